/** Libraries that link others, as a loader reads them (System V ABI, "Dynamic Linking"). */

import { type MadeSection, makeProgram } from "./make-amd.ts";

const tag = { needed: 1, strings: 5, runPath: 29 };

export function makeLibrary({
  needed = [],
  runPath,
  sections = [],
}: {
  readonly needed?: readonly string[];
  readonly runPath?: string;
  readonly sections?: readonly MadeSection[];
}): Buffer {
  const file = makeProgram(sections);
  const texts = [...needed, ...(runPath === undefined ? [] : [runPath])];
  const strings = Buffer.from(`\0${texts.join("\0")}\0`);
  const entries = [
    ...texts.map((text, index) => [
      index < needed.length ? tag.needed : tag.runPath,
      strings.indexOf(`\0${text}\0`) + 1,
    ]),
    [tag.strings, file.length],
    [0, 0],
  ];
  const dynamic = longs(entries.flat());
  const at = file.length + strings.length;
  const size = at + dynamic.length;
  const segments = Buffer.concat([segment(1, 0, size), segment(2, at, dynamic.length)]);
  file.writeBigUInt64LE(BigInt(size), 32);
  file.writeUInt16LE(56, 54);
  file.writeUInt16LE(2, 56);
  return Buffer.concat([file, strings, dynamic, segments]);
}

function longs(values: readonly (number | undefined)[]): Buffer {
  const bytes = Buffer.alloc(8 * values.length);
  for (const [index, value] of values.entries()) bytes.writeBigUInt64LE(BigInt(value ?? 0), 8 * index);
  return bytes;
}

function segment(type: number, at: number, size: number): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(type, 0);
  head.writeUInt32LE(4, 4);
  return Buffer.concat([head, longs([at, at, at, size, size, 1])]);
}
