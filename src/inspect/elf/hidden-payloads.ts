/** Finds bytes that a program may unpack when it runs: nobody has read their code. */

import { type ByteSource, withoutZeros } from "../byte-source.ts";
import { headBytes } from "../file-inspection.ts";
import { readZip } from "../image/zip.ts";
import { type Elf, sectionType } from "./elf.ts";

const loaded = 0x2;

/** The reasons why parts of a program are unread. A zip archive at its end is opened elsewhere, and is no payload. */
export function hiddenPayloads(source: ByteSource, elf: Elf): readonly string[] {
  const hidden: string[] = [];
  if (isPacked(source, elf)) hidden.push("packed by UPX: the code is unpacked when it runs");
  if (elf.damage.length > 0) return hidden;
  // Section names without a dot are an application's own (System V ABI, "Special Sections"): PyInstaller writes `pydata`.
  for (const { name, type, flags, size } of elf.sections)
    if (type === sectionType.program && (flags & loaded) === 0 && !name.startsWith(".") && size > 0)
      hidden.push(`${size} bytes in section ${name}, which is not loaded`);
  const end = endOf(elf);
  if (source.size <= end) return hidden;
  const size = withoutZeros(source, end, startOfZip(source, end));
  // However few: none of 6,400 programs of Debian, PyPI and npm has a byte there.
  if (size > 0) hidden.push(`${size} bytes behind the program, perhaps to unpack at run time`);
  return hidden;
}

/** The end of all that the headers name. */
function endOf({ sections, segments, tables }: Elf): number {
  let end = 0;
  for (const list of [sections, segments, tables])
    for (const { offset, size } of list) if (size > 0) end = Math.max(end, offset + size);
  return end;
}

/** The zip archive behind `end`; the end of the file without one. */
function startOfZip(source: ByteSource, end: number): number {
  let start = source.size;
  for (const { headerAt } of readZip(source) ?? []) if (headerAt >= end) start = Math.min(start, headerAt);
  return start;
}

/** UPX leaves no sections, and its mark behind the program headers (upx `src/p_lx_elf.cpp`). */
function isPacked(source: ByteSource, elf: Elf): boolean {
  if (elf.sections.length > 0) return false;
  return Buffer.from(source.read(0, headBytes)).includes("UPX!");
}
