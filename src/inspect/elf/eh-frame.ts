/**
 * Where functions begin and end, from `.eh_frame`, which survives `strip`. Sources: LSB Core, "Exception Frames"; DWARF 5, 6.4.1
 * and 7.24.
 */

import type { ByteSource } from "../byte-source.ts";
import { borrowBuffer, giveBack } from "../lent-buffers.ts";
import { u16, u32, u64 } from "../little-endian.ts";
import type { ElfSection } from "./elf.ts";

export interface FunctionRange {
  readonly address: number;
  readonly size: number;
}

const windowBytes = 4 * 2 ** 20;
const maxRecord = 2 ** 20;

/** How a pointer is written: low four bits the format, the next three what it counts from. */
const format = { absolute: 0, u2: 2, u4: 3, u8: 4, s2: 10, s4: 11, s8: 12 } as const;
const relativeToPlace = 0x10;

/** Ends quietly where the section is damaged: what is not found here counts as code outside functions. */
export function* readEhFrame(source: ByteSource, section: ElfSection): Generator<FunctionRange> {
  const lent = borrowBuffer(windowBytes);
  try {
    yield* records(source, section, new Uint8Array(lent));
  } finally {
    giveBack(lent);
  }
}

function* records(source: ByteSource, section: ElfSection, buffer: Uint8Array): Generator<FunctionRange> {
  const encodings = new Map<number, number | null>();
  let window = source.readOver(section.offset, buffer.subarray(0, section.size));
  let start = 0;
  for (let at = 0; at + 8 <= section.size; ) {
    if (at + maxRecord > start + window.length && start + window.length < section.size) {
      window = source.readOver(section.offset + at, buffer.subarray(0, section.size - at));
      start = at;
    }
    const length = u32(window, at - start);
    if (length === 0 || length > maxRecord || at + 4 + length > section.size) return;
    const record = window.subarray(at - start + 4, at - start + 4 + length);
    const pointer = u32(record, 0);
    if (pointer === 0) encodings.set(at, cieEncoding(record));
    else {
      const encoding = encodings.get(at + 4 - pointer) ?? null;
      const range = encoding === null ? null : fdeRange(record, encoding, section.address + at + 8);
      if (range !== null) yield range;
    }
    at += 4 + length;
  }
}

/** The encoding of pointers that the records of this one share; null where it cannot be told. */
function cieEncoding(record: Uint8Array): number | null {
  const version = record[4] ?? 0;
  const end = record.indexOf(0, 5);
  if (end === -1 || end > 64) return null;
  const augmentation = Buffer.from(record.buffer, record.byteOffset + 5, end - 5).toString("latin1");
  if (augmentation === "") return format.absolute;
  if (!augmentation.startsWith("z")) return null;
  // Code alignment, data alignment and, from version 3 on, the return register have no fixed length; then that of what follows.
  let at = end + 1;
  for (let skipped = 0; skipped < (version === 1 ? 2 : 3); skipped++) at = behindLeb(record, at);
  if (version === 1) at++;
  at = behindLeb(record, at);
  for (const letter of augmentation.slice(1)) {
    if (letter === "R") return record[at] ?? null;
    if (letter === "L") at++;
    else if (letter === "P") at += 1 + sizeOf(record[at] ?? 0);
    else if (letter !== "S" && letter !== "B" && letter !== "G") return null;
  }
  return format.absolute;
}

function fdeRange(record: Uint8Array, encoding: number, place: number): FunctionRange | null {
  const size = sizeOf(encoding);
  const application = encoding & 0x70;
  if ((application !== 0 && application !== relativeToPlace) || (encoding & 0x80) !== 0) return null;
  if (record.length < 4 + 2 * size) return null;
  const begin = numberAt(record, 4, encoding & 0xf);
  // Sizes are never signed.
  const length = numberAt(record, 4 + size, encoding & 0x7);
  if (begin === null || length === null) return null;
  return { address: application === relativeToPlace ? place + begin : begin, size: length };
}

function numberAt(bytes: Uint8Array, at: number, kind: number): number | null {
  if (kind === format.u2) return u16(bytes, at);
  if (kind === format.s2) return (u16(bytes, at) << 16) >> 16;
  if (kind === format.u4) return u32(bytes, at);
  if (kind === format.s4) return u32(bytes, at) | 0;
  if (kind === format.absolute || kind === format.u8) return u64(bytes, at);
  return kind === format.s8 ? u32(bytes, at) + (u32(bytes, at + 4) | 0) * 2 ** 32 : null;
}

function sizeOf(encoding: number): number {
  const kind = encoding & 0x7;
  return kind === format.u2 ? 2 : kind === format.u4 ? 4 : 8;
}

function behindLeb(bytes: Uint8Array, at: number): number {
  let end = at;
  while (end < bytes.length && ((bytes[end] ?? 0) & 0x80) !== 0) end++;
  return end + 1;
}
