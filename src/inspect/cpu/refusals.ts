/** Finds programs that ask the CPU and then refuse by themselves: without a feature, `main` ends with an error. */

import { remember } from "../../io/collections.ts";
import { findMarch } from "../../hardware/cpu-marches.ts";
import type { AskedWords } from "./asked-words.ts";
import { type Bits, maskOf } from "./known-bits.ts";
import {
  decidingSets,
  mayBeRefusal,
  missingAside,
  mostAside,
  refusingSets,
  type Search,
  someOfEach,
} from "./refusal-search.ts";
import { type Walk, walker } from "./refusal-ways.ts";
import { longestAnswer } from "./way-calls.ts";
import { longestHanded } from "./way-states.ts";
import type { FunctionReader, X86Instruction } from "./x86-functions.ts";
import { x86Machine } from "./x86-steps.ts";
import type { Kept } from "./x86-writers.ts";

export interface Refusals {
  /** Features without which no way through a start passes. */
  readonly refuses: readonly string[];
  /** Features of which some branch asks, and refuses without; or nobody knows, as a bound ended the search. */
  readonly mayRefuse: readonly string[];
  /** False where a bound ended the search before any question was seen. */
  readonly isWhole: boolean;
}

export const noRefusals: Refusals = { refuses: [], mayRefuse: [], isWhole: true };

/** What demands the features. */
export const refusedBy = (refuses: readonly string[]): Readonly<Record<string, string>> =>
  Object.fromEntries(refuses.map((name) => [name, "a question, and a refusal"]));

/** Of all ways through a file, and of those through a small one: a hostile file has thousands of starts. Between the two, a step for each byte that may be decoded. */
export const mostStepsOfFile = 300_000;
const mostStepsOfSmall = 120_000;

/** On x86-64 a start calls no more; of one that does, nobody knows. */
const mostCalled = 4096;

/** `starts` have a name and an address each. `areWritten` tells whether others than the instructions that keep an answer may write there. */
export function allRefusals(
  starts: readonly { readonly name: string; readonly address: number }[],
  reader: FunctionReader,
  words: AskedWords,
  areWritten: (kept: Kept) => boolean,
): Refusals {
  const budget = { left: Math.min(mostStepsOfFile, Math.max(mostStepsOfSmall, reader.budget)) };
  // No way leads through the whole of Rust's question.
  const lengthFrom = (address: number) =>
    words.isRustQuestion(address)
      ? 0
      : words.isQuestion(address)
        ? Number.POSITIVE_INFINITY
        : reader.lengthFrom(address);
  const keepers = keepersOf(starts, reader, words);
  const writtenBy = (start: number) => writtenIn(reader.instructions(start) ?? []);
  const before = new Set(keepers.flatMap(writtenBy));
  const reads = ({ reads: place }: X86Instruction) => place !== null && before.has(place);
  const mayAnswer = (target: number) =>
    words.mayAnswer(target) || (before.size > 0 && (reader.instructions(target) ?? []).some(reads));
  const isProgram = starts.some(({ name }) => name === "main" || name === rustMain);
  const longest = (target: number) => (isProgram && words.asks(target) ? longestAsking : longestAnswer);
  // The C runtime gets the address of a start, and Rust's runtime that of each closure.
  const mayRun = (target: number) =>
    !words.hasRust && !starts.some(({ address }) => address === target) && mayAnswer(target);
  const pointerAt = (place: number) =>
    words.pointers.at(place) ?? words.pointers.inConstants?.(place) ?? codeAt(reader, place);
  const callees = {
    ...reader,
    ...words,
    mayAnswer,
    lengthFrom,
    longest,
    mayRun,
    pointerAt,
    readsAt: readsOf(reader),
  };
  const been = new Set<number>();
  const isConstructor = ({ name }: { readonly name: string }) => name === atLoading;
  // `main` before constructors, of which a library has thousands.
  const sorted = [...starts].sort((one, other) => Number(isConstructor(one)) - Number(isConstructor(other)));
  const found = sorted.flatMap(({ name, address }) => {
    const isError = errors.find(({ of }) => of.test(name))?.is;
    if (isError === undefined || been.has(address)) return [];
    been.add(address);
    const code = reader.instructions(address) ?? [];
    const first = name === atLoading ? [] : keepers;
    const own = (more: Partial<AskedWords> = {}) =>
      refusalsOf([...first, address], {
        ...{ isError, mayGiveError: name === rustMain, callees, budget },
        machineFor: (answer, isLoose) => x86Machine(reader, { ...words, ...more, isLoose }, answer),
      });
    // A constructor gives no answer back: it refuses by a call that ends the program. Of thousands each is looked at alone.
    if (name === atLoading)
      return code.some(mayEnd) && words.mayAnswer(address) ? [{ ...own(), isWhole: true }] : [];
    const called = [...new Set(code.flatMap(({ target, takes }) => target ?? takes ?? []))];
    const taken = [...new Set(code.flatMap(({ takes }) => takes ?? []))].slice(0, mostCalled);
    const listed = taken.flatMap((place) => words.pointers.run?.(place) ?? []);
    if (called.length > mostCalled) return [{ ...noRefusals, isWhole: false }];
    if (keepers.length === 0 && ![address, ...called, ...listed].some(mayAnswer)) return [];
    const kept = { places: new Map<number, number>(), by: new Set<number>() };
    const keeping = own({ mayKeep: (place, bytes, by) => keep(kept, place, bytes, by) });
    const isSure = kept.places.size === 0 || keeping.refuses.length === 0 || !areWritten(kept);
    const plain = isSure ? keeping : withMarks(own({ mayKeep: () => false }), keeping);
    const marks = new Set(
      [...first, ...called.filter(words.mayAnswer)].flatMap(writtenBy).filter(reader.isEmpty),
    );
    const isMarked = (place: number) => marks.has(place);
    const told = marks.size === 0 ? plain : withMarks(plain, own({ isZeroAtFirst: isMarked }));
    return [name === rustMain ? { ...told, isWhole: true } : told];
  });
  /** True for a trap, and for a call that ends the program. */
  function mayEnd({ flow, target, reads }: X86Instruction): boolean {
    const isEnding = (place: number | null, isPointer: boolean) =>
      place !== null && words.endOf(place, isPointer) !== null;
    return flow === "trap" || isEnding(target, false) || isEnding(reads, true);
  }

  return {
    refuses: found.flatMap(({ refuses }) => refuses),
    mayRefuse: found.flatMap(({ mayRefuse }) => mayRefuse),
    isWhole: found.every(({ isWhole }) => isWhole),
  };
}

/** In a program that is never moved, a table of constants has the addresses themselves. */
function codeAt(reader: FunctionReader, place: number): number | null {
  const address = reader.constantAt(place);
  const isCode = address !== null && reader.constantAt(place + 4) === 0;
  return isCode && (reader.isStart(address) || reader.isUnnamed(address)) ? address : null;
}

/** Tells whether a function reads a place of data, or takes the address of a structure that has the place. */
function readsOf(reader: FunctionReader): (target: number, place: number) => boolean {
  const known = new Map<number, readonly (readonly [place: number, bytes: number])[]>();
  const placesOf = (target: number) =>
    (reader.instructions(target) ?? []).flatMap(({ reads, takes }) => [
      ...(reads === null ? [] : [[reads, 8] as const]),
      ...(takes === null || !reader.isWritten(takes) ? [] : [[takes, longestHanded] as const]),
    ]);
  return (target, place) =>
    remember(known, target, () => placesOf(target)).some(
      ([from, bytes]) => place >= from && place < from + bytes,
    );
}

function keep(
  { places, by }: { readonly places: Map<number, number>; readonly by: Set<number> },
  place: number,
  bytes: number,
  at: number,
): boolean {
  places.set(place, Math.max(bytes, places.get(place) ?? 0));
  by.add(at);
  return true;
}

/** Functions that nobody followed may write to the marks too, and to what was kept: what is refused by these alone may be refused. */
function withMarks(plain: Refusals, marked: Refusals): Refusals {
  const more = [...marked.refuses, ...marked.mayRefuse].filter((name) => !plain.refuses.includes(name));
  return { ...plain, mayRefuse: [...new Set([...plain.mayRefuse, ...more])].sort() };
}

/** A function of a program that asks, and fills in many features, may have so many bytes. NumPy's is too much for the bounds of a module. */
const longestAsking = 4096;

const [mostConstructors, mostKeepers] = [256, 8];

/** Constructors that ask, and may keep the answer for `main`. */
function keepersOf(
  starts: Parameters<typeof allRefusals>[0],
  reader: FunctionReader,
  words: AskedWords,
): readonly number[] {
  const isKeeper = (address: number) =>
    reader.lengthFrom(address) <= longestAnswer && words.mayAnswer(address) && !words.isQuestion(address);
  const isProgram = starts.some(({ name }) => name === "main");
  const constructors = isProgram ? starts.filter(({ name }) => name === atLoading) : [];
  const asking = constructors.slice(0, mostConstructors).filter(({ address }) => isKeeper(address));
  return asking.slice(0, mostKeepers).map(({ address }) => address);
}

const writtenIn = (code: readonly X86Instruction[]) => code.flatMap(({ writes }) => writes ?? []);

/** The name of starts that are called before `main`. */
export const atLoading = "a constructor";
/** The name of the function that Rust's runtime calls for `main`. */
export const rustMain = "Rust's main";

/** A program fails with a status, a module of Python without an object, and one of Java without a version. */
export const errors: readonly { readonly of: RegExp; readonly is: (result: Bits) => boolean }[] = [
  { of: /^main$/, is: ({ ones }) => (ones & maskOf(4)) !== 0n },
  { of: /^(a constructor|Rust's main)$/, is: () => false },
  { of: /^PyInit_/, is: ({ zeros }) => zeros === maskOf(8) },
  {
    of: /^JNI_OnLoad$/,
    is: ({ zeros, ones }) => (zeros & maskOf(4)) === maskOf(4) || (ones & 0x8000_0000n) !== 0n,
  },
];

/** So many ways are followed for each name, from their start and from branches. */
const walksOfName = 4;
/** So many are followed to find one name of many by halves. */
const looksAside = 12;

/** The features of a name, which may be a level of the ABI, or a list with | between. */
export const featuresOf = (name: string): readonly string[] => findMarch(name)?.features ?? name.split("|");

/** What is sure is no more told as possible. */
export const foundRefusals = (refuses: ReadonlySet<string>, mayRefuse: ReadonlySet<string>): Refusals => ({
  refuses: [...refuses].sort(),
  mayRefuse: [...mayRefuse].filter((name) => !refuses.has(name)).sort(),
  isWhole: true,
});

/** Of starts that run one behind the other. A bit whose name is a list, with | between, stands for one of the features, and nobody knows for which. */
export function refusalsOf(starts: readonly number[], context: Omit<Walk, "seen">): Refusals {
  const seen = new Set<string>();
  const walk = walker({ ...context, seen });
  try {
    const begin = walk.begin(starts);
    const left = context.budget.left;
    const always = walk.ends(begin, new Set());
    const steps = left - context.budget.left;
    if (always.isCut && seen.size === 0) return { ...noRefusals, isWhole: false };
    const givesZero = context.mayGiveError === true && always.ends.has("zero");
    const isFree = !givesZero && !always.ends.has("refused") && !always.ends.has("thrown");
    const search: Search = { walk, begin, always, budget: context.budget };
    const refuses = new Set<string>();
    const mayRefuse = new Set<string>();
    const told = new Set<string>();
    const resolved = new Set<number>();
    const isLong =
      context.callees.longest !== undefined && steps * seen.size * walksOfName > context.budget.left;
    const aside = () => {
      // One name of many is found by a dozen looks.
      if ((isFree || isLong) && steps * looksAside > mostAside) return foundRefusals(refuses, mayRefuse);
      for (const name of missingAside([...seen], search, context.mayGiveError === true))
        for (const feature of featuresOf(name)) mayRefuse.add(feature);
      return foundRefusals(refuses, mayRefuse);
    };
    if (!always.isCut && isFree) return aside();
    const setsOf = isLong ? refusingSets : decidingSets;
    for (const names of setsOf([...seen], search)) {
      if (names.some((name) => told.has(name))) continue;
      const without = new Set(names);
      const { ends, decided, known, isCut } = walk.ends(begin, without);
      for (const branch of [...known, ...decided.map((each) => each.branch)]) resolved.add(branch);
      const isPlain = !isCut && ends.size === 1 && ends.has("refused") && always.ends.has("passed");
      const isBranch =
        isPlain ||
        isLong ||
        (givesZero && !isCut && !ends.has("zero")) ||
        someOfEach(decided).some((node) => !walk.ends(node, without).ends.has("passed"));
      const [name = "", another] = names;
      const isSure = isPlain && another === undefined && !name.includes("|");
      if (!isBranch && context.budget.left >= 0) continue;
      for (const each of names) told.add(each);
      for (const feature of names.filter((each) => each !== "-").flatMap(featuresOf))
        (isSure ? refuses : mayRefuse).add(feature);
    }
    const isUnclear =
      context.budget.left >= 0 &&
      always.unclear.some((each) => {
        const isNew = !resolved.has(each.branch);
        resolved.add(each.branch);
        return isNew && mayBeRefusal(each, givesZero ? "zero" : "passed", walk);
      });
    if (isUnclear)
      for (const name of seen)
        if (name !== "-") for (const feature of name.split("|")) mayRefuse.add(feature);
    return told.size === 0 ? aside() : foundRefusals(refuses, mayRefuse);
  } finally {
    walk.free();
  }
}
