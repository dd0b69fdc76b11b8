/** Finds the functions of a program for AArch64 that ask for the CPU's features, and those that call them, wherever these stand. */

import { remember } from "../../io/collections.ts";
import type { ByteSource } from "../byte-source.ts";
import { type Elf, executableSection } from "../elf/elf.ts";
import { pageIn } from "./arm64-functions.ts";
import { fieldsIn } from "./arm64-registers.ts";
import type { readFunctionRanges } from "./function-ranges.ts";

const pieceBytes = 2 ** 20;
/** So many functions are looked at, and so many calls above a question. */
const mostAsking = 256;
const mostAbove = 5;

export type ArmCalls = ReturnType<typeof armCalls>;

/** Reads all calls of a file, and jumps from function to function. */
export function armCalls(source: ByteSource, elf: Elf, ranges: ReturnType<typeof readFunctionRanges>) {
  const calls: { from: number; to: number }[] = [];
  /** Places of MRS, by which programs ask. */
  const asked: number[] = [];
  /** Places of ADRP by the page. */
  const pages = new Map<number, number[]>();
  const startOf = (at: number) => {
    const index = ranges.firstFrom(at + 1) - 1;
    const start = index < 0 ? 0 : ranges.addressAt(index);
    return index >= 0 && at < start + ranges.sizeAt(index) ? start : null;
  };
  const isStart = (at: number) => ranges.addressAt(ranges.firstFrom(at)) === at;
  for (const { address, offset, size } of elf.sections.filter(
    ({ flags }) => (flags & executableSection) !== 0,
  ))
    for (let from = 0; from < size; from += pieceBytes) {
      const bytes = source.read(offset + from, Math.min(pieceBytes, size - from));
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let each = 0; each + 4 <= bytes.length; each += 4) {
        const word = view.getUint32(each, true);
        const at = address + from + each;
        const to = at + 4 * ((word << 6) >> 6);
        const page = pageIn({ at, word });
        if (word >>> 26 === 0x25 || (word >>> 26 === 5 && isStart(to))) calls.push({ from: at, to });
        else if (page !== null) remember(pages, page, () => []).push(at);
        else if (fieldsIn(word) !== null) asked.push(at);
      }
    }
  const startsOf = (places: readonly number[]) => new Set(places.flatMap((at) => startOf(at) ?? []));
  const callersOf = (isWanted: (target: number) => boolean) =>
    startsOf(calls.filter(({ to }) => isWanted(to)).map(({ from }) => from));
  return {
    callersOf,
    /** The starts of functions that ask or read the answer in one of the places, and of those that call them, the nearest first. `isRead` is true for ADRP of such a place. */
    asking(
      isQuestion: (target: number) => boolean,
      places: readonly number[],
      isRead: (at: number) => boolean,
    ): ReadonlySet<number> {
      const near = new Set(places.map((place) => Math.floor(place / 4096)));
      const reads = [...near].flatMap((page) => pages.get(page) ?? []).filter(isRead);
      const asking = new Set([...callersOf(isQuestion), ...startsOf([...asked, ...reads])]);
      let last: ReadonlySet<number> = asking;
      for (let above = 0; above < mostAbove && last.size > 0; above++) {
        const before = last;
        last = new Set([...callersOf((target) => before.has(target))].filter((each) => !asking.has(each)));
        for (const each of last) if (asking.size < mostAsking) asking.add(each);
      }
      return asking;
    },
  };
}
