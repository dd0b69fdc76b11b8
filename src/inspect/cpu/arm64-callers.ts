/** Finds the functions of a program for AArch64 that ask for the CPU's features, and those that call them, wherever these stand. */

import type { ByteSource } from "../byte-source.ts";
import { type Elf, executableSection } from "../elf/elf.ts";
import { pageIn } from "./arm64-functions.ts";
import { longestAnswer } from "./refusal-ways.ts";
import { fieldsIn } from "./arm64-registers.ts";
import type { readFunctionRanges } from "./function-ranges.ts";

const pieceBytes = 2 ** 20;
/** So many functions are looked at, and so many calls above a question. */
const mostAsking = 256;
const mostAbove = 5;

interface Asked {
  readonly isQuestion: (target: number) => boolean;
  /** The places of answers. */
  readonly places: ReadonlySet<number>;
  /** True for words that name such a place, of which the first one is ADRP. */
  readonly isRead: (at: number) => boolean;
}

/** The starts of functions that ask, and of those that call them, the nearest first. */
export function askingFunctionsOf(
  source: ByteSource,
  elf: Elf,
  ranges: ReturnType<typeof readFunctionRanges>,
  { isQuestion, places, isRead }: Asked,
): ReadonlySet<number> {
  const pages = new Set([...places].map((place) => Math.floor(place / 4096)));
  const calls: { from: number; to: number }[] = [];
  const asking = new Set<number>();
  const startOf = (at: number) => {
    const index = ranges.firstFrom(at + 1) - 1;
    const start = index < 0 ? 0 : ranges.addressAt(index);
    return index >= 0 && at < start + ranges.sizeAt(index) ? start : null;
  };
  const isOut = (at: number, to: number) => Math.abs(to - at) >= longestAnswer && startOf(at) !== startOf(to);
  const add = (at: number) => {
    const start = startOf(at);
    if (start !== null) asking.add(start);
  };
  for (const { flags, address, offset, size } of elf.sections.filter(
    (each) => (each.flags & executableSection) !== 0,
  ))
    for (let from = 0; from < size; from += pieceBytes) {
      const bytes = source.read(offset + from, Math.min(pieceBytes, size - from));
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      for (let each = 0; each + 4 <= bytes.length; each += 4) {
        const word = view.getUint32(each, true);
        const at = address + from + each;
        const to = at + 4 * ((word << 6) >> 6);
        if (word >>> 26 === 0x25 || (word >>> 26 === 5 && isOut(at, to))) calls.push({ from: at, to });
        else if (fieldsIn(word) !== null) add(at);
        else if (pages.size > 0 && pages.has(pageIn({ at, word }) ?? -1) && isRead(at)) add(at);
      }
    }
  for (const { from, to } of calls) if (isQuestion(to)) add(from);
  let last: ReadonlySet<number> = asking;
  for (let above = 0; above < mostAbove; above++) {
    const next = new Set<number>();
    for (const { from, to } of calls) {
      const start = last.has(to) ? startOf(from) : null;
      if (start !== null && !asking.has(start)) next.add(start);
    }
    for (const each of next) if (asking.size < mostAsking) asking.add(each);
    last = next;
  }
  return asking;
}
