/** Tells where named functions begin, and how far code goes that nothing names. */

import { type Elf, executableSection } from "../elf/elf.ts";
import type { readFunctionRanges } from "./function-ranges.ts";

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
  const code = sections
    .filter(({ flags }) => (flags & executableSection) !== 0)
    .sort((a, b) => a.address - b.address);
  return (address) => {
    let low = 0;
    let high = code.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((code[middle]?.address ?? 0) <= address) low = middle + 1;
      else high = middle;
    }
    const around = code[low - 1];
    if (around === undefined) return null;
    const end = around.address + around.size;
    return address < end ? end : null;
  };
}
