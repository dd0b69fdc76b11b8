/** Knows which functions of AArch64 code ask for the CPU's features, or read an answer that is kept. */

import { remember } from "../../io/collections.ts";
import type { Answers } from "./arm64-answers.ts";
import {
  type ArmFunctions,
  type ArmWord,
  armStubOf,
  calledIn,
  callIn,
  jumpIn,
  pageIn,
} from "./arm64-functions.ts";
import type { Lists } from "./arm64-memory.ts";
import { fieldsIn } from "./arm64-registers.ts";
import { longestMain } from "./arm64-starts.ts";
import { has } from "./arm64-words.ts";
import bits from "./asked-features.json" with { type: "json" };
import type { FixedPointers } from "./fixed-pointers.ts";
import type { Callees } from "./way-parts.ts";

/** Every CPU for which Linux runs has FP and ASIMD, the first two. */
const firstWord = ["1", "1", ...bits.hwcap.split(" ").slice(2)];
/** The kernel's auxiliary vector: AT_HWCAP and AT_HWCAP2 (Linux, include/uapi/linux/auxvec.h). */
export const vectors = new Map([
  [16, firstWord],
  [26, bits.hwcap2.split(" ")],
]);
/** A question stands so many calls below a function that answers. So many functions are looked at for one. */
export const mostDeep = 3;
const mostLookedAt = 512;

export interface Answering extends Callees {
  readonly asks: (start: number, longest?: number) => boolean;
  /** True for an instruction that asks, or begins to read an answer. */
  readonly asksAt: (words: readonly ArmWord[], index: number) => boolean;
  /** True for a function that asks or reads an answer by itself. */
  readonly asksItself: (start: number) => boolean;
  /** True for ADRP in front of a word that reads an answer. */
  readonly reads: (at: number) => boolean;
}

/** `mayAnswer` is true for a function that hands on the answer, `asks` for a start that reads the answer or calls such a function. */
export function answering(
  code: ArmFunctions,
  pointers: FixedPointers,
  answers: Answers,
  stored: Answers,
  isQuestion: (target: number) => boolean,
  longestAsking: number,
) {
  // Each atomic operation reads libgcc's byte, and chooses its own way alone.
  const isOfAtomics = (lists: Lists) =>
    lists.every((names) => names.length === 8 && names.every((name) => "-0atomics".includes(name)));
  const places = [...answers].flatMap(([place, lists]) => (isOfAtomics(lists) ? [] : place));
  const atomics = [...answers.keys()].filter((place) => !places.includes(place));
  const isIn = (place: number | null) =>
    place !== null && places.some((each) => place >= each && place < each + 8);
  const isInFront = (place: number) =>
    [...stored.keys()].some((each) => place < each && place > each - mostInFront);
  const known = new Map<number, boolean>();
  let left = mostLookedAt;
  const asksAt = (words: readonly ArmWord[], index: number, isStart = false): boolean => {
    const each = words[index];
    if (each === undefined) return false;
    const called = callIn(each) ?? jumpOut(each, words);
    const isAsked =
      called !== null && isQuestion(called) && isOfFeatures(words.slice(Math.max(0, index - 4), index));
    return isAsked || fieldsIn(each.word) !== null || readsAnswer(words, index, isStart);
  };
  const isAsking = (words: readonly ArmWord[], isStart: boolean) =>
    words.some((_, index) => asksAt(words, index, isStart));
  const readsAnswer = (words: readonly ArmWord[], index: number, isStart: boolean) => {
    const first = words[index];
    const page = first === undefined || answers.size === 0 ? null : pageIn(first);
    if (first === undefined || page === null) return false;
    return words.slice(index + 1, index + 1 + mostBetween).some(({ word }) => {
      const found = distanceIn(word, first.word & 31);
      const place = page * 4096 + (found?.distance ?? Number.NaN);
      if (isIn(place) || isIn(pointers.at(place)) || (isStart && atomics.includes(place))) return true;
      return found?.isAddress === true && isInFront(place);
    });
  };
  const mayAnswer = (target: number, deep = mostDeep): boolean =>
    remember(known, target * (mostDeep + 1) + deep, () => {
      if (--left < 0 || armStubOf(code, target) !== null) return false;
      const words = code.codeOf(target, longestAsking);
      return (
        isAsking(words, false) || (deep > 1 && calledIn(words).some((each) => mayAnswer(each, deep - 1)))
      );
    });
  return {
    mayAnswer: (target: number) => mayAnswer(target),
    reads: (at: number) => readsAnswer(code.wordsIn(at, 4 * (mostBetween + 1)), 0, false),
    asksAt: (words: readonly ArmWord[], index: number) => asksAt(words, index),
    asksItself: (start: number) => isAsking(code.codeOf(start, longestMain), false),
    asks(start: number, longest = longestMain): boolean {
      const words = code.codeOf(start, longest);
      return isAsking(words, true) || calledIn(words).some((each) => mayAnswer(each));
    },
  };
}

/** False where the number that the kernel is asked for, as MOVZ leaves it in X0, has no features: Rust asks for the size of a signal's stack. */
function isOfFeatures(before: readonly ArmWord[]): boolean {
  const number = before.findLast(({ word }) => has(word, 0x7fe0_001f, 0x5280_0000))?.word;
  return number === undefined || vectors.has((number >>> 5) & 0xffff);
}

/** The target of B out of a function. */
export function jumpOut(each: ArmWord, words: readonly ArmWord[]): number | null {
  const target = jumpIn(each);
  const [first, last] = [words[0]?.at ?? 0, words.at(-1)?.at ?? 0];
  return target === null || (target >= first && target <= last) ? null : target;
}

/** Instructions between ADRP and what takes its page, and bytes between the begin of a structure and a word. */
export const [mostBetween, mostInFront] = [8, 64];

/** The distance that ADD or a load adds to a base; null for other instructions. */
function distanceIn(word: number, base: number) {
  const number = (word >>> 10) & 0xfff;
  const isAddress = has(word, 0xffc0_0000, 0x9100_0000);
  const isRead = has(word, 0x3b40_0000, 0x3940_0000);
  if (((word >>> 5) & 31) !== base || (!isAddress && !isRead)) return null;
  return { distance: isAddress ? number : number * 2 ** (word >>> 30), isAddress };
}
