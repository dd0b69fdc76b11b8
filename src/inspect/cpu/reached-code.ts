/** Follows the starts of a file to the code that runs without a question to the CPU on the way. */

import { type Elf, segmentType, writableSegment } from "../elf/elf.ts";
import type { FixedPointers } from "./fixed-pointers.ts";
import { familyOf } from "./judge-code.ts";
import type { FunctionReader, X86Instruction } from "./x86-functions.ts";

/** Fields of a record whose address an asking function takes. */
const answerBytes = 128;

export interface Answers {
  /** Addresses at which functions that ask leave the answer, or may leave a part of the answer. */
  readonly written: ReadonlySet<number>;
  /** Those at which a function with `cpuid` leaves the answer. */
  readonly own: ReadonlySet<number>;
}

/** `asking` is of {@link askingFunctions}. */
export function answersOf(elf: Elf, asking: ReadonlyMap<number, number>, reader: FunctionReader): Answers {
  const data = elf.segments.filter(
    ({ type, flags }) => type === segmentType.load && (flags & writableSegment) !== 0,
  );
  // A segment in memory is longer than in the file: .bss.
  const last = Math.max(0, ...data.map(({ address, size }) => address + size)) + 2 ** 26;
  const first = Math.min(...data.map(({ address }) => address));
  const isData = (address: number) => address >= first && address < last;
  const written = new Set<number>();
  const own = new Set<number>();
  for (const [address, calls] of asking) {
    if (calls > mostCallsToAnswer) continue;
    for (const { writes, takes } of reader.instructions(address) ?? []) {
      if (writes !== null && isData(writes)) written.add(writes);
      if (writes !== null && isData(writes) && calls === 0) own.add(writes);
      if (calls > 1 || takes === null || !isData(takes)) continue;
      for (let at = 0; at < answerBytes; at += 4) written.add(takes + at);
    }
  }
  return { written, own };
}

/** A function that asks by so many calls has the answer. */
const mostCallsToAnswer = 2;

/**
 * True for functions that hand on addresses of code which is called: `main` has no more in Rust. A library's starts hand on what may be called
 * later.
 */
export type Handing = (address: number, code: readonly X86Instruction[]) => boolean;

export interface Reached {
  readonly starts: readonly number[];
  readonly handing: Handing;
  /**
   * Tables of virtual functions that a function takes. A program with a start that needs AVX takes no table to choose between AVX and less. In another
   * program the table may be the choice, and in a library nobody knows who calls.
   */
  readonly tables: "followed" | "may be chosen" | "none";
  readonly reader: FunctionReader;
  readonly pointers: FixedPointers;
  readonly asking: ReadonlyMap<number, number>;
  readonly answers: Answers;
  /** The features that no path through a function avoids. */
  readonly neededBy: (address: number) => Iterable<string>;
}

/** So many functions with AVX, among the functions that `main` hands on, tell a program for AVX. */
const enoughForAvx = 500;
/** So many functions behind functions without AVX that `main` hands on tell a program for SSE4. */
const enoughForSse4 = 2000;

export interface ReachedCode {
  /** Features of all code on the way. Sorted. */
  readonly reached: readonly string[];
  /** Those of code to which a way leads without a function in SSE's old encoding: such a function calls AVX by an answer, which may lie anywhere. */
  readonly unchosen: readonly string[];
  /** Features from SSSE3 to SSE4.2, whose encoding is SSE's, of code behind functions in that encoding that `main` hands on. Sorted. */
  readonly behindHanded: readonly string[];
  /** False where a bound ended the search. What is behind older functions that are handed on is looked for as far as the bounds allow. */
  readonly isWhole: boolean;
}

type Way = "start" | "handed" | "behind older" | "behind handed";

interface Followed {
  readonly address: number;
  readonly code: readonly X86Instruction[];
  readonly way: Way;
  /** For what the code calls. */
  readonly queue: number[];
  readonly handedOn: number[];
}

export function reachedFrom({
  starts,
  handing,
  tables,
  reader,
  pointers,
  asking,
  answers,
  neededBy,
}: Reached): ReachedCode {
  const seen = new Set(starts);
  const reached = new Set<string>();
  const unchosen = new Set<string>();
  const handed: number[] = [];
  const passed: number[] = [];
  const behindHanded = new Set<string>();
  const isAsking = (address: number) => (asking.get(address) ?? 3) <= mostCallsToAnswer;
  const hasAnswer = ({ reads, takes }: X86Instruction) =>
    (reads !== null && answers.written.has(reads)) || (takes !== null && answers.own.has(takes));
  const isQuestion = (each: X86Instruction) =>
    each.asks || (each.target !== null && isAsking(each.target)) || hasAnswer(each);
  const behindOlder: number[] = [];
  follow([...seen], "start");
  // A start that calls what is handed on needs no more: lang_start calls what Rust's `main` hands on.
  follow(handed, "handed");
  follow(behindOlder, "behind older");
  const isWhole = !reader.isCut();
  follow(passed, "behind handed");
  return {
    isWhole,
    reached: [...reached].sort(),
    unchosen: [...unchosen].sort(),
    behindHanded: [...behindHanded].sort(),
  };

  function follow(queue: number[], way: Way): void {
    const isBehind = way === "behind older" || way === "behind handed";
    let left = way === "behind handed" ? enoughForSse4 : enoughForAvx;
    for (let address = queue.pop(); address !== undefined && left > 0; address = queue.pop()) {
      if (way !== "start" && seen.has(address)) continue;
      const all = reader.instructions(address);
      if (all === null) continue;
      // A function with SSE's old encoding was not compiled for AVX, and calls code with more than SSE2 where an answer tells so.
      const isOlder = all.some(({ isOldVector }) => isOldVector);
      const isPassed = way === "handed" && isOlder;
      if (!isPassed) seen.add(address);
      const asks = isAsking(address) || all.some(hasAnswer);
      // Behind a question all may depend on the answer, but for what no path avoids.
      if (asks || isPassed)
        for (const feature of neededBy(address)) add(feature, way, way !== "behind older");
      if (isPassed) {
        passed.push(address);
        continue;
      }
      if (
        way === "behind handed" ||
        (way === "handed" && all.some(({ features }) => features.includes("avx")))
      )
        left--;
      const code = asks ? unasked(address, all, isQuestion) : all;
      const next = !isBehind && isOlder ? behindOlder : queue;
      followFrom({ address, code, way, queue: next, handedOn: isBehind ? queue : handed });
    }
  }

  function add(feature: string, way: Way, isUnchosen: boolean): void {
    if (way === "behind handed") {
      if (familyOf(feature) === "sse4") behindHanded.add(feature);
      return;
    }
    reached.add(feature);
    if (isUnchosen) unchosen.add(feature);
  }

  function followFrom({ address, code, way, queue, handedOn }: Followed): void {
    const end = code.reduce((last, each) => Math.max(last, each.end), address);
    const isNamed = reader.isStart(address);
    const isHanding = handing(address, code);
    const isOutside = (place: number) => place < address || place >= end;
    const isCode = (place: number, mayHaveNoName: boolean) =>
      reader.isStart(place) || (mayHaveNoName && reader.isUnnamed(place));
    for (const { features, flow, target, takes, asks } of code) {
      // Whoever asks by XGETBV has asked by CPUID before, maybe in the caller.
      if (!asks) for (const feature of features) add(feature, way, queue !== behindOlder);
      const mayHaveNoName = flow === "call" || (target !== null && isOutside(target));
      if (target !== null && !seen.has(target) && isCode(target, mayHaveNoName)) queue.push(target);
      if (takes === null || !(isHanding || tables !== "none")) continue;
      const isFunction = isCode(takes, !isNamed && isOutside(takes));
      const given = isFunction ? [takes] : pointers.run(takes).filter((each) => isCode(each, true));
      if (isHanding) handedOn.push(...given);
      else if (!isFunction && tables === "followed")
        (queue === behindOlder ? queue : handedOn).push(...given);
      else if (!isFunction) (way === "behind handed" ? queue : passed).push(...given);
    }
  }
}

/**
 * The instructions from the first one on as far as no question is on the way. A branch beside a question tells whether the question was asked
 * before.
 */
function unasked(
  entry: number,
  instructions: readonly X86Instruction[],
  isQuestion: (instruction: X86Instruction) => boolean,
): readonly X86Instruction[] {
  const places = new Map(instructions.map(({ at }, index) => [at, index]));
  /** 1 where a question follows in a straight line. */
  const leads = new Uint8Array(instructions.length + 1);
  for (let index = instructions.length - 1; index >= 0; index--) {
    const each = instructions[index];
    const goesOn = each?.flow === "next" || each?.flow === "call";
    leads[index] = (each !== undefined && isQuestion(each)) || (goesOn && leads[index + 1] === 1) ? 1 : 0;
  }
  const leadsToQuestion = (place: number) => leads[places.get(place) ?? instructions.length] === 1;
  const found = new Set<number>();
  const queue = [entry];
  for (let place = queue.pop(); place !== undefined; place = queue.pop()) {
    for (let index = places.get(place); index !== undefined && !found.has(index); index++) {
      const each = instructions[index];
      if (each === undefined || isQuestion(each)) break;
      found.add(index);
      const { flow, target, end } = each;
      if (flow === "end" || flow === "trap") break;
      const next = flow === "branch" ? [end, ...(target === null ? [] : [target])] : [];
      if (next.some(leadsToQuestion)) break;
      if (flow === "branch" || flow === "jump") {
        if (target !== null) queue.push(target);
        if (flow === "jump") break;
      }
    }
  }
  return [...found].flatMap((index) => instructions[index] ?? []);
}
