/** Finds all functions of a program for AArch64 that ask for the CPU's features, and their callers. */

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
  /** Of each call its place, and where it leads. */
  const [from, to]: [number[], number[]] = [[], []];
  // Sections of a hostile file are the whole file each.
  let left = source.size;
  /** Places of MRS, by which programs ask. */
  const asked: number[] = [];
  /** Of each ADRP its place and its page. */
  const [adrp, pages]: [number[], number[]] = [[], []];
  const startOf = (at: number) => {
    const index = ranges.firstFrom(at + 1) - 1;
    const start = index < 0 ? 0 : ranges.addressAt(index);
    return index >= 0 && at < start + ranges.sizeAt(index) ? start : null;
  };
  const isStart = (at: number) => ranges.addressAt(ranges.firstFrom(at)) === at;
  for (const { address, offset, size } of elf.sections.filter(
    ({ flags }) => (flags & executableSection) !== 0,
  ))
    for (let piece = 0; piece < size && left > 0; piece += pieceBytes) {
      const bytes = source.read(offset + piece, Math.min(pieceBytes, size - piece));
      left -= bytes.length;
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let each = 0; each + 4 <= bytes.length; each += 4) {
        const word = view.getUint32(each, true);
        const at = address + piece + each;
        const kind = word >>> 26;
        if (kind === 0x25 || kind === 5) {
          const target = at + 4 * ((word << 6) >> 6);
          if (kind === 5 && !isStart(target)) continue;
          from.push(at);
          to.push(target);
        } else if ((word & 0x9f00_0000) >>> 0 === 0x9000_0000) {
          adrp.push(at);
          pages.push(pageIn({ at, word }) ?? -1);
        } else if (fieldsIn(word) !== null) asked.push(at);
      }
    }
  const startsOf = (places: readonly number[]) => new Set(places.flatMap((at) => startOf(at) ?? []));
  const callersOf = (isWanted: (target: number) => boolean) =>
    startsOf(from.filter((_, each) => isWanted(to[each] ?? 0)));
  return {
    callersOf,
    /** The starts of functions that ask or read the answer, then of their callers. `near` has the pages of answers, `isRead` is true for ADRP of an answer. */
    asking(
      isQuestion: (target: number) => boolean,
      near: ReadonlySet<number>,
      isRead: (at: number) => boolean,
    ): ReadonlySet<number> {
      const reads = adrp.filter((at, each) => near.has(pages[each] ?? -1) && isRead(at));
      const asking = new Set([...callersOf(isQuestion), ...startsOf([...asked, ...reads])]);
      let last: ReadonlySet<number> = asking;
      for (let above = 0; above < mostAbove && last.size > 0 && asking.size < mostAsking; above++) {
        const before = last;
        last = new Set([...callersOf((target) => before.has(target))].filter((each) => !asking.has(each)));
        for (const each of last) if (asking.size < mostAsking) asking.add(each);
      }
      return asking;
    },
  };
}
