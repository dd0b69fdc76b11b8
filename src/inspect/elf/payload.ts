/** What a program carries and its loader never sees: PyInstaller, AppImage and the like unpack it when they run. */

import type { ByteSource } from "../byte-source.ts";
import { holdsCodeFrom } from "../holds-code.ts";
import { readZip } from "../image/zip.ts";
import { type Elf, sectionType } from "./elf.ts";

const loaded = 0x2;
const stepBytes = 2 ** 16;
const zeros = Buffer.alloc(stepBytes);

/** In words, as what was not opened. A zip archive at the end is opened on its own, and is none. */
export function hiddenPayloads(source: ByteSource, elf: Elf): readonly string[] {
  const hidden: string[] = [];
  // Names without a dot are an application's own (System V ABI, "Special Sections"): PyInstaller writes `pydata`.
  for (const { name, type, flags, size } of elf.sections)
    if (
      type === sectionType.program &&
      (flags & loaded) === 0 &&
      !name.startsWith(".") &&
      size >= holdsCodeFrom
    )
      hidden.push(`${size} bytes in section ${name}, which is not loaded`);
  const end = endOf(elf);
  if (source.size - end < holdsCodeFrom) return hidden;
  const size = withoutZeros(source, end, startOfZip(source, end));
  if (size >= holdsCodeFrom)
    hidden.push(`${size} bytes behind the program, which it may unpack when it runs`);
  return hidden;
}

/** Where everything ends that the headers tell of. */
function endOf({ sections, segments, tables }: Elf): number {
  let end = 0;
  for (const list of [sections, segments, tables])
    for (const { offset, size } of list) if (size > 0) end = Math.max(end, offset + size);
  return end;
}

/** From `end` on; the end of the file where none stands there. */
function startOfZip(source: ByteSource, end: number): number {
  let start = source.size;
  for (const { headerAt } of readZip(source) ?? []) if (headerAt >= end) start = Math.min(start, headerAt);
  return start;
}

/** From the first byte that is none to the last one: zeros fill up to a page, and hold nothing. */
function withoutZeros(source: ByteSource, start: number, end: number): number {
  const windowAt = (from: number, to: number) => source.read(from, Math.min(stepBytes, to - from));
  const isZero = (bytes: Uint8Array) => zeros.subarray(0, bytes.length).equals(bytes);
  let first = start;
  while (first < end && isZero(windowAt(first, end))) first += stepBytes;
  if (first >= end) return 0;
  first += windowAt(first, end).findIndex((byte) => byte !== 0);
  let last = end;
  while (last > first) {
    const from = Math.max(first, last - stepBytes);
    const bytes = windowAt(from, last);
    if (!isZero(bytes)) return from + bytes.findLastIndex((byte) => byte !== 0) + 1 - first;
    last = from;
  }
  return 0;
}
