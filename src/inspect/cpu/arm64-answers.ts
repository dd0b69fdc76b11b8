/** Knows where a program for AArch64 finds the CPU's answer: in what libgcc, LLVM, Rust or the program itself has stored. */

import { type ArmFunctions, type ArmWord, callIn } from "./arm64-functions.ts";
import type { Lists, Memory } from "./arm64-memory.ts";
import { has } from "./arm64-words.ts";
import { arm64Machine } from "./arm64-steps.ts";
import bits from "./asked-features.json" with { type: "json" };
import { noBits, type Value } from "./known-bits.ts";
import type { NamedCalls } from "./named-calls.ts";
import type { Known } from "./way-states.ts";

/** By place. */
export type Answers = ReadonlyMap<number, Lists>;

/** The words that libgcc and LLVM leave, by their names. */
export function namedAnswers({ own }: NamedCalls): Answers {
  const answers = new Map<number, Lists>();
  for (const [address, kind] of own) {
    // The byte is 0 or 1.
    if (kind === "atomics") answers.set(address, [["atomics", ..."0000000"]]);
    if (kind === "features") answers.set(address, [bits.aarch64.split(" ")]);
  }
  return answers;
}

/** Answers in a place, or in the later bytes of one. */
export function answerIn(answers: Answers): Memory["answerAt"] {
  if (answers.size === 0) return () => null;
  const [first, last] = [Math.min(...answers.keys()), Math.max(...answers.keys())];
  return (place) => {
    if (place < first || place >= last + 8) return null;
    const start = [0, 1, 2, 3, 4, 5, 6, 7].map((by) => place - by).find((each) => answers.has(each));
    const lists = start === undefined ? undefined : answers.get(start);
    return start === undefined || lists === undefined
      ? null
      : lists.map((names) => names.slice(8 * (place - start)));
  };
}

export interface RustAnswers {
  readonly answers: Answers;
  /** Rust's questions: what they give back stands in the words too. */
  readonly questions: ReadonlySet<number>;
}

/** Rust's question, and no more than so many are looked at. */
const longestQuestion = 8192;
const mostQuestions = 64;
const wordBits = 63;
/** The minor version of Rust that has the features in another order. */
const firstLater = 82;

/**
 * The words in which Rust keeps the answer. Each word has 63 bits of the answer; its last bit is set once the answer is there (std_detect,
 * detect/cache.rs). `starts` may ask, and the functions that these call; `direct` call the C library's question.
 */
export function rustAnswers(
  starts: readonly number[],
  direct: Iterable<number>,
  code: ArmFunctions,
  memory: Memory,
  minor: number | null,
  isQuestion: (target: number) => boolean,
): RustAnswers {
  const called = (start: number) => code.codeOf(start, longestQuestion).flatMap((each) => callIn(each) ?? []);
  const near = starts.flatMap((start) => [start, ...called(start).slice(0, mostQuestions)]);
  const caches = new Map<number, ReturnType<typeof rustCache>>();
  for (const target of new Set([...direct, ...near.flatMap(called)])) {
    if (caches.size >= mostQuestions) break;
    if (code.codeOf(target, longestQuestion).some(marksLastBit))
      caches.set(target, rustCache(target, code, memory));
  }
  const found = [...caches].flatMap(([question, cache]) => {
    // A compiler that sees the whole program leaves out the words that nobody reads. Other questions have one word too.
    const isSure =
      cache !== null && (cache.places.length > 1 || (minor !== null && called(question).some(isQuestion)));
    return isSure ? [{ question, ...cache }] : [];
  });
  const [first] = found;
  if (first === undefined || found.some(({ places }) => places.join() !== first.places.join()))
    return { answers: new Map(), questions: new Set() };
  const { places, isCut } = first;
  const all = isCut || (minor ?? 0) >= firstLater ? laterBits(minor) : bits.armRust.split(" ");
  const firstWord = places.length === 1 && isCut ? 1 : 0;
  return {
    answers: new Map(
      places.slice(0, 2).map((place, index) => {
        const start = wordBits * (firstWord + index);
        return [place, listsOf(all.slice(start, start + wordBits))];
      }),
    ),
    questions: new Set(found.map(({ question }) => question)),
  };
}

/** ORR of a number whose last bit alone is set. */
const marksLastBit = ({ word }: ArmWord) => has(word, 0xffff_fc00, 0xb241_0000);

/** Some bits came with a version, whose number stands in front of these. Without a version a bit is one of several. */
function laterBits(minor: number | null): readonly string[] {
  const all = bits.laterArmRust.split(" ").map((each) => each.split(":").reverse());
  const ofVersion = (own: number) =>
    all.flatMap(([name, since = "0"]) => (Number(since) <= own ? (name ?? []) : []));
  if (minor !== null) return ofVersion(minor);
  const each = [firstLater, 83, 84].map(ofVersion);
  return Array.from({ length: all.length }, (_, bit) => {
    const names = new Set(each.map((names) => names[bit] ?? "-"));
    return [...names].filter((name) => name !== "-" || names.size === 1).join("|");
  });
}

/** A bit of two features is in two lists. */
function listsOf(names: readonly string[]): Lists {
  return [0, 1].map((part) => names.map((each) => each.split("+")[part] ?? "-"));
}

/** Where a function leaves words in a row with the last bit set; null for other functions. `isCut`: EXTR cuts the bits of a second word. */
function rustCache(question: number, code: ArmFunctions, memory: Memory) {
  if (code.lengthFrom(question) > longestQuestion) return null;
  const left = new Set<number>();
  const wrote = (place: number, value: Value | null, bytes: number) => {
    if (bytes === 8 && value !== null && !("at" in value) && value.ones >> BigInt(wordBits) === 1n)
      left.add(place);
  };
  const machine = arm64Machine({ ...memory, wrote }, () => noBits);
  let known: Known = { registers: new Map(), flags: null };
  let isCut = false;
  for (const { at, word } of code.codeOf(question, longestQuestion)) {
    isCut ||= has(word, 0xffe0_fc00, 0x93c0_fc00);
    const done = machine.step(at, known);
    known = done.kind === "next" ? done.known : { registers: new Map(), flags: null };
  }
  const places = [...left].sort((a, b) => a - b);
  const isRow = places.every((each, index) => each === (places[0] ?? 0) + 8 * index);
  return places.length > 0 && places.length <= 3 && isRow ? { places, isCut } : null;
}
