/** Tells where named functions begin, how far code goes that nothing names, and which places are called. */

import type { ByteSource } from "../byte-source.ts";
import { type Elf, executableSection } from "../elf/elf.ts";
import { eachCall } from "./asking-links.ts";
import type { FixedPointers } from "./fixed-pointers.ts";
import type { readFunctionRanges } from "./function-ranges.ts";
import { codeAreas } from "./regions.ts";

/** So far a function is decoded that neither unwinding data nor a symbol names. */
export const maxUnnamed = 2 ** 17;

/** `roomAt` tells the bytes of code from an address on before a named function, `endAround` the end of the code around an address; null outside code. */
export function roomsOf(elf: Elf, ranges: ReturnType<typeof readFunctionRanges>) {
  const endOfCode = codeRanges(elf);
  const isStart = (address: number) => ranges.addressAt(ranges.firstFrom(address)) === address;
  /** The bytes of code from an address on before a named function; 0 inside one. */
  const roomAt = (address: number) => {
    const after = ranges.firstFrom(address + 1);
    const isInside = after > 0 && address < ranges.addressAt(after - 1) + ranges.sizeAt(after - 1);
    const end = endOfCode(address);
    return isInside || end === null
      ? 0
      : Math.min(ranges.addressAt(after), end, address + maxUnnamed) - address;
  };
  const endAround = (address: number) => {
    const room = roomAt(address);
    if (room > 0) return address + room;
    const around = ranges.firstFrom(address + 1) - 1;
    if (around < 0) return null;
    const end = ranges.addressAt(around) + ranges.sizeAt(around);
    return address < end ? end : null;
  };
  return { isStart, roomAt, endAround };
}

/** Tells the end of the code around an address; null outside code. */
function codeRanges({ sections }: Elf): (address: number) => number | null {
  const code = sections.filter(({ flags }) => (flags & executableSection) !== 0);
  const around = searchFor(code);
  return (address) => {
    const section = around(address);
    return section === null ? null : section.address + section.size;
  };
}

interface Range {
  readonly address: number;
  readonly size: number;
}

/** Finds the last range that begins at or before a place, and reaches beyond the place; null if it does not. */
function searchFor<Kind extends Range>(ranges: readonly Kind[]): (place: number) => Kind | null {
  const sorted = [...ranges].sort((a, b) => a.address - b.address);
  return (place) => {
    let low = 0;
    let high = sorted.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((sorted[middle]?.address ?? 0) <= place) low = middle + 1;
      else high = middle;
    }
    const found = sorted[low - 1];
    return found !== undefined && place < found.address + found.size ? found : null;
  };
}

/** Tells the places to which direct calls lead. All code is read at the first question. */
export function calledPlaces(
  source: ByteSource,
  elf: Elf,
  pointers: FixedPointers,
): (place: number) => boolean {
  let around: ReturnType<typeof searchFor<Range & { readonly marks: Uint8Array }>> | null = null;
  const read = () => {
    const areas = codeAreas(elf).map((area) => ({
      ...area,
      marks: new Uint8Array(Math.ceil(area.size / 8)),
    }));
    const search = searchFor(areas);
    for (const area of areas)
      eachCall(source, area, pointers, (_from, to, isCall) => {
        const called = isCall ? search(to) : null;
        if (called === null) return;
        const at = to - called.address;
        called.marks[at >>> 3] = (called.marks[at >>> 3] ?? 0) | (1 << (at & 7));
      });
    return search;
  };
  return (place) => {
    around ??= read();
    const called = around(place);
    const at = place - (called?.address ?? 0);
    return ((called?.marks[at >>> 3] ?? 0) & (1 << (at & 7))) !== 0;
  };
}
