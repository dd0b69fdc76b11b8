/** What the loader brings together: libraries that a file names, its own name, its interpreter. Source: System V ABI, "Dynamic Linking". */

import type { ByteSource } from "../byte-source.ts";
import { textAt, u32, u64 } from "../little-endian.ts";
import { type Elf, offsetOfAddress, segmentType } from "./elf.ts";

export interface ElfDynamic {
  readonly needed: readonly string[];
  readonly soname: string | null;
  readonly interpreter: string | null;
}

const tag = { end: 0, needed: 1, strings: 5, soname: 14 } as const;
const maxTable = 2 ** 20;
const maxNames = 10_000;

export function readDynamic(source: ByteSource, elf: Elf): ElfDynamic {
  const interpreter = elf.segments.find(({ type }) => type === segmentType.interpreter);
  const entries = dynamicEntries(source, elf);
  const address = entries.find(([key]) => key === tag.strings)?.[1];
  const strings = address === undefined ? null : offsetOfAddress(elf, address);
  const name = (at: number) => (strings === null ? "" : textAt(source.read(strings + at, 4096), 0));
  const soname = entries.find(([key]) => key === tag.soname)?.[1];
  return {
    needed: entries
      .filter(([key]) => key === tag.needed)
      .slice(0, maxNames)
      .map(([, at]) => name(at))
      .filter((each) => each !== ""),
    soname: soname === undefined ? null : name(soname) || null,
    interpreter:
      interpreter === undefined
        ? null
        : textAt(source.read(interpreter.offset, 4096), 0, interpreter.size) || null,
  };
}

function dynamicEntries(source: ByteSource, elf: Elf): readonly (readonly [key: number, value: number])[] {
  const place = elf.segments.find(({ type }) => type === segmentType.dynamic);
  if (place === undefined) return [];
  const bytes = source.read(place.offset, Math.min(place.size, maxTable));
  const word = elf.bits === 64 ? 8 : 4;
  const number = elf.bits === 64 ? u64 : u32;
  const entries: [number, number][] = [];
  for (let at = 0; at + 2 * word <= bytes.length; at += 2 * word) {
    const key = number(bytes, at);
    if (key === tag.end) break;
    entries.push([key, number(bytes, at + word)]);
  }
  return entries;
}
