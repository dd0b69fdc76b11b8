/** Follows functions of a program for AArch64 that ask and to which no start was seen to lead, as behind pointers and many calls. */

import { type Answering, jumpOut, mostBetween } from "./arm64-asking.ts";
import type { ArmCalls } from "./arm64-callers.ts";
import {
  type ArmFunctions,
  type ArmWord,
  calledIn,
  callIn,
  leadsElsewhere,
  pageIn,
} from "./arm64-functions.ts";
import type { Memory } from "./arm64-memory.ts";
import { longestMain } from "./arm64-starts.ts";
import { arm64Machine, isTrap } from "./arm64-steps.ts";
import { type Bits, numberOf, type Value } from "./known-bits.ts";
import { someOfEach } from "./refusal-search.ts";
import { walker } from "./refusal-ways.ts";
import { atLoading, errors, featuresOf, type Refusals, refusalsOf, rustMain } from "./refusals.ts";
import { longestAnswer } from "./way-calls.ts";
import type { Answer } from "./way-parts.ts";
import { isAsked, type Known, type Node } from "./way-states.ts";

export interface Start {
  readonly name: string;
  readonly address: number;
}

interface Program extends Pick<ArmCalls, "callersOf"> {
  readonly starts: readonly Start[];
  readonly code: ArmFunctions;
  readonly callees: Answering;
  readonly memory: Memory;
  /** The functions through which the starts have led. */
  readonly visited: ReadonlySet<number>;
  /** The bytes of the longest function that hands the answer on. */
  readonly longestHanding: number;
}

const [mostSteps, mostStepsOfAll] = [10_000, 100_000];
/** So many calls above a question. */
const mostAbove = 64;

/** `asking` are the functions that ask, or read an answer. A function that hands on what it makes of an answer is entered, and the callers are followed then. */
export function hiddenRefusals(asking: ReadonlySet<number>, program: Program): Omit<Refusals, "refuses"> {
  const handing = new Set<number>();
  const all = new Set(asking);
  const names = new Set<string>();
  let [next, left, isWhole]: [ReadonlySet<number>, number, boolean] = [asking, mostStepsOfAll, true];
  const within = <Found>(
    use: (budget: Budget) => Found,
  ): { readonly found: Found; readonly isCut: boolean } => {
    const most = Math.min(mostSteps, left);
    const budget = { left: most };
    const found = use(budget);
    left -= most - Math.max(0, budget.left);
    return { found, isCut: budget.left <= 0 };
  };
  for (let above = 0; above <= mostAbove && next.size > 0; above++) {
    const handed = new Set<number>();
    for (const start of next) {
      const isNew = !handing.has(start) && program.code.lengthFrom(start) <= program.longestHanding;
      if (isFollowed(start, program, all)) {
        if (isNew) handed.add(start);
        continue;
      }
      const hidden = hiddenFunction(start, program, handing);
      const { found, isCut } = within((budget) => {
        const from = hidden.seemsToRefuse(budget);
        return from === null ? [] : hidden.refusals(from, budget);
      });
      for (const name of isCut && found.length === 0 ? hidden.asked() : found) names.add(name);
      isWhole &&= !isCut || found.length > 0;
      if (isNew && within(hidden.handsOn).found) handed.add(start);
    }
    for (const each of handed) handing.add(each);
    next = program.callersOf(handed);
    for (const each of next) all.add(each);
  }
  return { mayRefuse: [...names], isWhole: isWhole && next.size === 0 };
}

/** A start has led through a function, whose own calls of functions that ask were followed too. */
function isFollowed(start: number, program: Program, asking: ReadonlySet<number>): boolean {
  const { starts, code, callees, visited } = program;
  const isKnown = (each: number) => !asking.has(each) || callees.mayAnswer(each);
  return (
    visited.has(start) &&
    (isKnown(start) || starts.some(({ address }) => address === start)) &&
    calledIn(code.codeOf(start, longestMain)).every(isKnown)
  );
}

interface Budget {
  left: number;
}

function hiddenFunction(start: number, program: Program, handing: ReadonlySet<number>) {
  const { starts, code, memory } = program;
  const callees: Answering = {
    ...program.callees,
    mayAnswer: (each) => handing.has(each),
    lengthFrom: (each) => (handing.has(each) ? 0 : program.callees.lengthFrom(each)),
  };
  const name = starts.find(({ address }) => address === start)?.name ?? atLoading;
  const isOwnError = errors.find(({ of }) => of.test(name))?.is ?? (() => false);
  const words = code.codeOf(start, longestMain);
  const end = start + 4 * words.length;
  const seen = new Set<string>();
  return {
    /** The features that the function was seen to ask for. */
    asked: () => [...seen].filter((each) => each !== "-").flatMap(featuresOf),
    /** Callers learn of the answer, by what a function gives back, or leaves in their structures. */
    handsOn(budget: Budget): boolean {
      let isAnswer = false;
      let numbers = new Set<string>();
      const note = (kind: string, value: Bits) => {
        isAnswer ||= value.asked;
        const number = numberOf(value);
        if (number !== null) numbers.add(`${kind}${number}`);
      };
      const isError = (result: Bits) => {
        note("result", result);
        return false;
      };
      const wrote = (place: number | null, value: Value | null) => {
        if (place === null && value !== null && !("at" in value)) note("store", value);
      };
      const machineFor = (answer: Answer) => arm64Machine({ ...memory, wrote }, answer);
      const walk = walker({ callees, machineFor, isError, budget, seen, isRough: true });
      const numbersWithout = (names: Iterable<string>, isWithOthers: boolean) => {
        numbers = new Set();
        walk.ends(walk.begin([start]), new Set(names), isWithOthers);
        return [...numbers].sort().join();
      };
      numbersWithout([], false);
      return isAnswer || numbersWithout([...seen], false) !== numbersWithout([], true) || budget.left < 0;
    },
    /**
     * In front of a question behind which all ways end with an error on one side of a branch; null where there is none. Whatever stands in front of a
     * question, or goes on without the answer, is passed over.
     */
    seemsToRefuse(budget: Budget): number | null {
      if (name === rustMain) return start;
      if (name === atLoading && !mayEnd(start, program)) return null;
      let [from, asking, site] = [start, start, start];
      const passed = new Set<number>();
      const isAhead = (place: number, known: Known) =>
        place < start || place >= end || (place >= from && place <= site) || isAlive(known);
      const nearMachine = (answer: Answer) => {
        const machine = arm64Machine(memory, answer);
        const step: typeof machine.step = (place, known) => {
          if (!isAhead(place, known)) return { kind: "lost" };
          if (place <= asking || isAlive(known)) passed.add(place);
          return machine.step(place, known);
        };
        return { ...machine, step };
      };
      const ways = { callees, isError: isOwnError, budget, seen };
      const near = walker({ ...ways, machineFor: nearMachine, isRough: true });
      const far = { left: 0 };
      const whole = walker({ ...ways, budget: far, machineFor: (answer) => arm64Machine(memory, answer) });
      const refuses = (side: Node) => {
        far.left = budget.left;
        const isRefused = areRefused(whole, side, new Set());
        budget.left = far.left;
        return isRefused;
      };
      const found = words.some((each, index) => {
        if (passed.has(each.at)) return false;
        if (!handing.has(callIn(each) ?? -1) && !callees.asksAt(words, index)) return false;
        // What is read stands some instructions behind ADRP.
        const behind = pageIn(each) === null ? 0 : mostBetween;
        [from, asking, site] = [inFrontOf(words, index), each.at, each.at + 4 * behind];
        const begin = near.begin([from]);
        const { unclear } = near.ends(begin, new Set());
        const sides = someOfEach(unclear.flatMap((branch) => branch.sides));
        return areRefused(near, begin, seen) || sides.some(refuses);
      });
      return found ? from : null;
    },
    /** The features without which the function ends the program; behind a question alone where the way from the start is too long. */
    refusals(question: number, budget: Budget): readonly string[] {
      const refusalsFrom = (from: number, budget: Budget) => {
        const machineFor = (answer: Answer) => arm64Machine(memory, answer);
        const { refuses, mayRefuse } = refusalsOf([from], {
          ...{ callees, machineFor, isError: isOwnError, mayGiveError: name === rustMain, budget },
        });
        return [...refuses, ...mayRefuse];
      };
      const found = refusalsFrom(start, budget);
      return found.length > 0 || budget.left >= 0 ? found : refusalsFrom(question, { left: mostSteps });
    },
  };
}

/** All ways end with an error. */
function areRefused(walk: ReturnType<typeof walker>, from: Node, without: ReadonlySet<string>): boolean {
  const { ends, isCut } = walk.ends(from, without, false, { wanted: "passed" });
  return !isCut && ends.size > 0 && !ends.has("passed");
}

/** Some code of a function, or of a short one that it calls, ends the program, as far as calls tell. */
function mayEnd(start: number, program: Program, deep = 2): boolean {
  const { code, callees } = program;
  const words = code.codeOf(start, longestMain);
  return words.some((each) => {
    const target = callIn(each) ?? jumpOut(each, words);
    if (target === null) return isTrap(each.word);
    const end = callees.endOf(target, false);
    if (end !== null) return end !== "never";
    if (callIn(each) !== null && each === words.at(-1)) return true;
    const isShort = deep > 0 && code.lengthFrom(target) <= longestAnswer;
    return callees.neverReturns(target) || (isShort && mayEnd(target, program, deep - 1));
  });
}

const isAlive = ({ registers, flags }: Known) =>
  flags?.asked === true || [...registers.values()].some(isAsked);

/** Instructions in front of a question, which have its argument. */
const mostInFront = 8;

function inFrontOf(words: readonly ArmWord[], index: number): number {
  let first = index;
  while (first > 0 && first > index - mostInFront && !leadsElsewhere(words[first - 1]?.word ?? 0)) first--;
  return words[first]?.at ?? 0;
}
