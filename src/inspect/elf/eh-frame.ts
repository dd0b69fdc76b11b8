/** Reads the bounds of functions from `.eh_frame`, which survives `strip`. Sources: LSB Core, "Exception Frames"; DWARF 5, 6.4.1 and 7.24. */

import { type ByteSource, windowBytes, withWindow } from "../byte-source.ts";
import { u16, u32, u64 } from "../little-endian.ts";
import type { ElfSection } from "./elf.ts";

const maxRecord = windowBytes / 2;

/** The encoding of a pointer: four bits for the format, and three for the origin. */
const format = { absolute: 0, u2: 2, u4: 3, u8: 4, s2: 10, s4: 11, s8: 12 } as const;
const relativeToPlace = 0x10;

/** Calls `use` for every function. It stops at damage: code behind it counts as code outside functions. */
export function readEhFrame(source: ByteSource, section: ElfSection, use: UseRange): void {
  withWindow((buffer) => {
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
      const record = at - start + 4;
      const pointer = u32(window, record);
      if (pointer === 0) encodings.set(at, cieEncoding(window.subarray(record, record + length)));
      else {
        const encoding = encodings.get(at + 4 - pointer) ?? null;
        if (encoding !== null) useRange(window, record, length, encoding, section.address + at + 8, use);
      }
      at += 4 + length;
    }
  });
}

type UseRange = (address: number, size: number) => void;

/** The encoding of pointers in the records that refer to the CIE; null if it is unknown. */
function cieEncoding(record: Uint8Array): number | null {
  const version = record[4] ?? 0;
  const end = record.indexOf(0, 5);
  if (end === -1 || end > 64) return null;
  const augmentation = Buffer.from(record.buffer, record.byteOffset + 5, end - 5).toString("latin1");
  if (augmentation === "") return format.absolute;
  if (!augmentation.startsWith("z")) return null;
  // Numbers without a fixed length: code alignment, data alignment, the return register from version 3 on, the augmentation's length.
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

/** Reads the function of a record in the window. `address` is the address of the record's first pointer. */
function useRange(
  window: Uint8Array,
  record: number,
  length: number,
  encoding: number,
  address: number,
  use: UseRange,
): void {
  const size = sizeOf(encoding);
  const application = encoding & 0x70;
  if ((application !== 0 && application !== relativeToPlace) || (encoding & 0x80) !== 0) return;
  if (length < 4 + 2 * size) return;
  const begin = numberAt(window, record + 4, encoding & 0xf);
  // Sizes are never signed.
  const bytes = numberAt(window, record + 4 + size, encoding & 0x7);
  if (begin !== null && bytes !== null) use(application === relativeToPlace ? address + begin : begin, bytes);
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
