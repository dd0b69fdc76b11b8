/** Finds the words in which a program for AArch64 keeps what it makes of the CPU's answer, to read it later. */

import { type Elf, executableSection } from "../elf/elf.ts";
import { type ArmFunctions, pageIn } from "./arm64-functions.ts";
import type { Lists, Memory } from "./arm64-memory.ts";
import { arm64Machine } from "./arm64-steps.ts";
import { maskOf, noBits, type Value } from "./known-bits.ts";
import { walker } from "./refusal-ways.ts";
import type { Answer, Callees } from "./way-parts.ts";
import type { Known } from "./way-states.ts";

export interface StoredAnswers {
  readonly answers: ReadonlyMap<number, Lists>;
  /** The places of the stores. */
  readonly stores: ReadonlySet<number>;
}

/** What all stores to a place have in common: the bits that are zeros after each of them. */
interface Word {
  readonly bytes: number;
  readonly zeros: bigint;
}

/** All words that a start writes, on the CPU with all features, and on CPUs without one. */
interface Written {
  readonly always: ReadonlyMap<number, Word>;
  readonly without: ReadonlyMap<string, ReadonlyMap<number, Word>>;
}

const mostStepsOfStores = 60_000;
const mostNames = 128;
const allZeros: Lists = [Array.from({ length: 64 }, () => "0")];

/**
 * Follows all ways through the starts, and takes all stores to a place together, wherever they stand. `initialAt` tells the eight bytes of a place in the
 * file; null outside it.
 */
export function storedAnswers(
  starts: readonly number[],
  memory: Memory,
  callees: Callees,
  initialAt: (place: number) => bigint | null,
): StoredAnswers {
  const stores = new Set<number>();
  const budget = { left: mostStepsOfStores };
  const found = starts.flatMap(
    (start) => writtenBy(start, memory, callees, initialAt, { stores, budget }) ?? [],
  );
  const answers = new Map<number, Lists>();
  for (const place of new Set(found.flatMap(({ always }) => [...always.keys()]))) {
    const own = found.flatMap(({ always, without }) => {
      const word = always.get(place);
      return word === undefined ? [] : [{ word, without }];
    });
    const [first] = own;
    const isAlike = own.every(({ word }) => word.bytes === first?.word.bytes);
    if (first === undefined || !isAlike || found.some(({ always }) => isCovered(place, first.word, always)))
      continue;
    const zerosOf = (name: string | null) =>
      own.reduce(
        (all, { word, without }) => {
          const others = name === null ? undefined : without.get(name);
          return all & (others === undefined ? word.zeros : (others.get(place)?.zeros ?? all));
        },
        ~(initialAt(place) ?? 0n),
      );
    const names = [...new Set(own.flatMap(({ without }) => [...without.keys()]))];
    const lists = listsOf(names, zerosOf, first.word.bytes);
    if (lists.length > 1) answers.set(place, lists);
  }
  return { answers, stores };
}

/** Another store leaves something in the same bytes. */
function isCovered(place: number, { bytes }: Word, always: Written["always"]): boolean {
  return [...always].some(
    ([other, word]) =>
      other !== place &&
      other < place + bytes &&
      other + word.bytes > place &&
      (word.zeros & maskOf(word.bytes)) !== maskOf(word.bytes),
  );
}

/** The first list names the bits that are always zeros, each other list the bits that are zeros without a feature. */
function listsOf(names: readonly string[], zerosOf: (name: string | null) => bigint, bytes: number): Lists {
  const always = zerosOf(null);
  const bitsOf = (zeros: bigint, name: string) =>
    Array.from({ length: 8 * bytes }, (_, bit) => (((zeros >> BigInt(bit)) & 1n) === 1n ? name : "-"));
  const own = names.flatMap((name) => {
    const zeros = zerosOf(name) & ~always & maskOf(bytes);
    return zeros === 0n ? [] : [bitsOf(zeros, name)];
  });
  return [bitsOf(always, "0"), ...own];
}

/** null where a bound ended the search, or the CPU's answer makes no difference. */
function writtenBy(
  start: number,
  memory: Memory,
  callees: Callees,
  initialAt: (place: number) => bigint | null,
  { stores, budget }: { readonly stores: Set<number>; readonly budget: { left: number } },
): Written | null {
  let words = new Map<number, Word>();
  let at = start;
  const wrote = (place: number, value: Value | null, bytes: number) => {
    stores.add(at);
    const before = words.get(place);
    const zeros = value === null || "at" in value ? 0n : value.zeros;
    words.set(place, {
      bytes: Math.max(bytes, before?.bytes ?? 0),
      zeros: zeros & (before?.zeros ?? zeros),
    });
  };
  const answerAt = (place: number) => memory.answerAt(place) ?? (initialAt(place) === null ? allZeros : null);
  const seen = new Set<string>();
  const walk = walker({
    ...{ callees, budget, seen },
    isError: () => false,
    machineFor(answer: Answer) {
      const machine = arm64Machine({ ...memory, answerAt, wrote }, answer);
      const step: typeof machine.step = (place, known) => {
        at = place;
        return machine.step(place, known);
      };
      return { ...machine, step };
    },
  });
  const wordsWithout = (names: readonly string[]) => {
    words = new Map();
    return walk.ends(walk.begin([start]), new Set(names)).isCut ? null : words;
  };
  const always = wordsWithout([]);
  const names = [...seen].slice(0, mostNames);
  const never = wordsWithout(names);
  const isSame = [...(always ?? [])].every(
    ([place, { zeros }]) => never?.get(place)?.zeros === zeros || memory.answerAt(place) !== null,
  );
  if (always === null || never === null || isSame) return null;
  const without = new Map<string, ReadonlyMap<number, Word>>();
  // An answer has dozens of bits, of which a program keeps few: halves that leave the same are not looked at one by one.
  const isCut = !lookAt(names);
  return isCut ? null : { always, without };

  function lookAt(all: readonly string[]): boolean {
    const own = wordsWithout(all);
    if (own === null) return false;
    if ([...(always ?? [])].every(([place, { zeros }]) => own.get(place)?.zeros === zeros)) return true;
    const [only, second] = all;
    if (only !== undefined && second === undefined) without.set(only, own);
    const half = Math.ceil(all.length / 2);
    return all.length < 2 || (lookAt(all.slice(0, half)) && lookAt(all.slice(half)));
  }
}

/** So many instructions behind ADRP are followed, and so many bytes in front of a word its structure may begin. */
const mostFollowed = 64;
const pieceBytes = 2 ** 16;
const mostInFront = 64;

/** True if other code of the file than `stores` writes to the places, or hands on the address of one. */
export function areWritten(
  { answers, stores }: StoredAnswers,
  code: ArmFunctions,
  elf: Elf,
  memory: Memory,
  mayAnswer: (target: number) => boolean,
): boolean {
  const pages = new Set([...answers.keys()].map((place) => Math.floor(place / 4096)));
  const places = [...answers.keys()];
  const isNear = (place: number, before: number) =>
    places.some((each) => place > each - before && place < each + 8);
  // Words beside each other are a structure, whose address may be handed on.
  const isStructure = places.some((each) =>
    places.some((other) => other > each && other - each < mostInFront),
  );
  let [at, isWritten] = [0, false];
  const wrote = (place: number, _: Value | null, bytes: number) => {
    isWritten ||= !stores.has(at) && isNear(place, bytes);
  };
  const machine = arm64Machine({ ...memory, wrote }, () => noBits);
  const isHanded = ({ registers }: Known) =>
    [0, 1, 2, 3, 4, 5, 6, 7].some((name) => {
      const value = registers.get(name);
      return value !== undefined && "at" in value && isNear(value.at, isStructure ? mostInFront : 1);
    });
  const follow = (start: number) => {
    let known: Known = { registers: new Map(), flags: null };
    for (at = start; at < start + 4 * mostFollowed && !isWritten; at += 4) {
      const done = machine.step(at, known);
      if (done.kind === "next") known = done.known;
      else if (done.kind === "call") {
        isWritten ||= !mayAnswer(done.target) && isHanded(known);
        known = {
          registers: new Map([...known.registers].filter(([name]) => machine.kept.has(name))),
          flags: null,
        };
      } else if (done.kind !== "branch") return;
    }
  };
  for (const { flags, address, size } of elf.sections)
    if ((flags & executableSection) !== 0)
      for (let from = address; from < address + size && !isWritten; from += pieceBytes)
        for (const each of code.wordsIn(from, Math.min(pieceBytes, address + size - from)))
          if (pages.has(pageIn(each) ?? -1)) follow(each.at);
  return isWritten;
}
