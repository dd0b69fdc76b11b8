/** Reads which versions of rustc a file names: the compiler writes its own since 1.73. */

import type { ByteSource } from "../byte-source.ts";
import type { Elf } from "../elf/elf.ts";

const longestComment = 2 ** 16;

/** The second number of each version, for example 80 of 1.80.0; null for an early build, which may have the order of bits of the version before. */
export function rustcMinors(source: ByteSource, { sections }: Elf): ReadonlySet<number | null> {
  const section = sections.find(({ name }) => name === ".comment");
  if (section === undefined || section.size > longestComment) return new Set();
  const text = Buffer.from(source.read(section.offset, section.size)).toString("latin1");
  return new Set(
    [...text.matchAll(/rustc version ([^\s\0]*)/g)].map(([, version = ""]) => {
      const minor = /^1\.(\d+)\.\d+$/.exec(version)?.[1];
      return minor === undefined ? null : Number(minor);
    }),
  );
}
