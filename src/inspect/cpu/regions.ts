/** Executable bytes of a file in pieces: functions, and what stands between them, which may be code or data. */

import type { ByteSource } from "../byte-source.ts";
import { type Elf, executableSection, executableSegment, sectionType, segmentType } from "../elf/elf.ts";
import { readFunctionRanges } from "./function-ranges.ts";

export interface CodeRegion {
  /** In the file. */
  readonly offset: number;
  readonly size: number;
  readonly isFunction: boolean;
}

/** In the order of their addresses, each byte in one region, cut wherever a function begins. */
export function* codeRegions(source: ByteSource, elf: Elf): Generator<CodeRegion> {
  const functions = readFunctionRanges(source, elf);
  for (const area of executableAreas(elf)) {
    const end = area.address + area.size;
    const region = (from: number, to: number, isFunction: boolean): CodeRegion => ({
      offset: area.offset + (from - area.address),
      size: to - from,
      isFunction,
    });
    let at = area.address;
    for (let index = functions.firstFrom(area.address); index < functions.count; index++) {
      const address = functions.addressAt(index);
      if (address >= end) break;
      if (address > at) yield region(at, address, false);
      // A function may begin inside another: that one then goes on behind it.
      const next = Math.min(functions.addressAt(index + 1), end);
      const stop = Math.min(address + functions.sizeAt(index), next);
      if (stop > Math.max(at, address)) yield region(Math.max(at, address), stop, true);
      at = Math.max(at, stop);
    }
    if (at < end) yield region(at, end, false);
  }
}

/** Sections with code, or segments where a file has no sections; no byte of the file twice, whatever it claims. */
function executableAreas(elf: Elf): readonly { address: number; offset: number; size: number }[] {
  const sections = elf.sections.filter(
    ({ type, flags }) => (flags & executableSection) !== 0 && type !== sectionType.noContent,
  );
  const segments = elf.segments.filter(
    ({ type, flags }) => type === segmentType.load && (flags & executableSegment) !== 0,
  );
  const areas: { address: number; offset: number; size: number }[] = [];
  let done = 0;
  for (const { address, offset, size } of [...(elf.sections.length > 0 ? sections : segments)].sort(
    (a, b) => a.offset - b.offset,
  )) {
    const known = Math.max(0, done - offset);
    if (size > known) areas.push({ address: address + known, offset: offset + known, size: size - known });
    done = Math.max(done, offset + size);
  }
  return areas;
}
