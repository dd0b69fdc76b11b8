/** Finds programs and modules for AArch64 that ask for the CPU's features and then refuse by themselves. */

import { once, remember } from "../../io/collections.ts";
import type { ByteSource } from "../byte-source.ts";
import { type Elf, elfType, offsetOfAddress, segmentType } from "../elf/elf.ts";
import { type Answers, answerIn, namedAnswers, rustAnswers } from "./arm64-answers.ts";
import { type Answering, answering, mostDeep, mostInFront, vectors } from "./arm64-asking.ts";
import { type ArmCalls, armCalls } from "./arm64-callers.ts";
import { armConstants } from "./arm64-constants.ts";
import {
  type ArmFunctions,
  arm64Functions,
  armStubOf,
  calledIn,
  givesObject,
  isEndless,
  isGetauxval,
} from "./arm64-functions.ts";
import { hiddenRefusals, type Start } from "./arm64-hidden.ts";
import type { Memory } from "./arm64-memory.ts";
import { isStartCode, longestMain, mainOf, rustMainsOf } from "./arm64-starts.ts";
import { arm64Machine } from "./arm64-steps.ts";
import { areWritten, storedAnswers } from "./arm64-stores.ts";
import type { FixedPointers } from "./fixed-pointers.ts";
import { atomicsQuestion } from "./own-questions.ts";
import type { readFunctionRanges } from "./function-ranges.ts";
import { type Ending, isEnding, type NamedCalls, namedCalls } from "./named-calls.ts";
import {
  atLoading,
  errors,
  mostStepsOfFile,
  noRefusals,
  type Refusals,
  refusalsOf,
  rustMain,
} from "./refusals.ts";
import { rustcMinors } from "./rustc-versions.ts";
import { startsOf } from "./start-code.ts";
import { longestAnswer } from "./way-calls.ts";
import type { Answer } from "./way-parts.ts";

const mostInTable = 2 ** 16;
/** A function that keeps the answer of several questions has no more bytes. */
const longestStoring = 4096;

/** The compilers' own constructors, which keep the answer for atomic operations and for functions in versions, are shorter. */
const longestOfCompiler = 128;

export interface ArmRefusals extends Refusals {
  /** Signs that a static program asks, whose names may be gone. */
  readonly asks: readonly string[];
}

export function arm64Refusals(
  source: ByteSource,
  elf: Elf,
  functions: ReturnType<typeof readFunctionRanges>,
  pointers: FixedPointers,
): ArmRefusals {
  const code = arm64Functions(source, elf, functions);
  const constantAt = armConstants(source, elf);
  const memoryOf = (answers: Answers): Memory => ({
    ...{ codeAt: code.codeAt, pointerAt: pointers.at, answerAt: answerIn(answers), constantAt },
  });
  const isLinked = elf.segments.some(({ type }) => type === segmentType.interpreter);
  const isProgram = elf.type === elfType.executable || isLinked || isStartCode(elf.entry, code);
  const named = namedCalls(source, elf, (target) => armStubOf(code, target), !isProgram);
  const main = isProgram ? mainOf(elf.entry, memoryOf(new Map()), code) : null;
  // Two versions in one file may have two orders of bits.
  const [version = null, another] = rustcMinors(source, elf);
  const minor = another === undefined ? version : null;
  const rustMains =
    main === null ? [] : rustMainsOf(main, code, memoryOf(new Map()), minor === null ? null : pointers);
  const isQuestion = questionTest(named, code, isProgram && !isLinked);
  const isRust = main !== null && rustMains.length + (minor ?? 0) > 0;
  const rustStarts = isRust ? [main, ...rustMains] : [];
  const calls = once(() => armCalls(source, elf, functions));
  const called = once(
    () => new Set([...named.own.keys(), ...calls().mayBeQuestions].filter((each) => isQuestion(each))),
  );
  const direct = isRust ? calls().callersOf(called()) : [];
  const rust = rustAnswers(rustStarts, direct, code, memoryOf(new Map()), minor, isQuestion);
  const answers: Answers = new Map([...namedAnswers(named), ...rust.answers]);
  const starts = [
    ...(main === null ? [] : [{ name: "main", address: main }]),
    ...rustMains.map((address) => ({ name: rustMain, address })),
    ...startsOf(source, elf, null),
  ];
  const { endingOf, neverReturns } = endings(named, code);
  // Without optimization Rust's test of a bit is longer than others.
  const longestAsking = (isRust ? 2 : 1) * longestAnswer;
  const calleesOf = (answers: Answers, stored: Answers): Answering => {
    const { mayAnswer, ...asking } = answering(code, pointers, answers, stored, isQuestion, longestAsking);
    const answerAt = answerIn(answers);
    return {
      ...asking,
      lengthFrom(target) {
        if (armStubOf(code, target) !== null) return Number.POSITIVE_INFINITY;
        const length = code.lengthFrom(target);
        return length <= longestAsking && mayAnswer(target) ? 0 : length;
      },
      ...{ endAround: code.endAround, pointerAt: pointers.at },
      isStart: (address) => code.isStart(address) || named.kindAt(address, false) === "auxiliary",
      givenBack: (target, argument) => (isQuestion(target) ? (vectors.get(argument ?? -1) ?? null) : null),
      endOf: (target, isPointer) =>
        rust.questions.has(target) ? "never" : endingOf(target, isPointer, mostDeep),
      neverReturns,
      givesAddress: (target) => isRust && givesObject(code.codeOf(target)),
      hasAnswer: (place) => answerAt(place) !== null,
      mayAnswer,
    };
  };
  const [budget, visited] = [{ left: mostStepsOfFile }, new Set<number>()];
  const plain = calleesOf(answers, new Map());
  const found = refusalsOfStarts(starts, plain, memoryOf(answers), budget, visited);
  const asking = starts.filter((start) => isAsking(start, plain)).map(({ address }) => address);
  const askingOf = (callees: Answering, answers: Answers) =>
    askersOf(calls(), called(), callees, pagesOf(elf, [...answers.keys()], pointers), rust.questions);
  const calledByMain = asking.includes(main ?? -1) ? calledIn(code.codeOf(main ?? -1, longestMain)) : [];
  const leading = once(() => leadingTo(askingOf(plain, answers), calls()));
  const keeping = calledByMain.filter((each) => leading().has(each) && plain.asks(each, longestStoring));
  // Rust's own library keeps the answer of a program in Rust.
  const mayHide = main === null || isRust ? [] : [...calls().callersOf(called()), ...calls().asked];
  const isHidden = (each: number) => !visited.has(each) && code.lengthFrom(each) <= longestAnswer;
  const hiding = mayHide.filter((each) => isHidden(each) && plain.asksItself(each));
  const storing = [...new Set([...asking, ...keeping, ...hiding])];
  const stored = storedAnswers(storing, memoryOf(answers), plain, (place) => wordAt(source, elf, place));
  const all: Answers = new Map([...stored.answers, ...answers]);
  const callees = calleesOf(all, stored.answers);
  const hidden = () =>
    hiddenRefusals(askingOf(callees, all), {
      ...{ callersOf: calls().callersOf, visited, starts, code, callees, memory: memoryOf(all) },
      // Rust's functions that choose by the answer leave what they choose in structures.
      longestHanding: isRust ? longestAsking : longestMain,
    });
  const behind = main === null ? noRefusals : hidden();
  const asks =
    main === null || isLinked
      ? []
      : signsOf([...calls().callersOf(called())].filter(plain.asksItself), starts, code);
  const isWhole = found.isWhole && behind.isWhole;
  if (stored.answers.size === 0)
    return { ...found, mayRefuse: [...found.mayRefuse, ...behind.mayRefuse], isWhole, asks };
  const more = refusalsOfStarts(starts, callees, memoryOf(all), budget, visited);
  const own = more.refuses.filter((name) => !found.refuses.includes(name));
  const isSure = own.length > 0 && !areWritten(stored, code, elf, memoryOf(answers), plain.mayAnswer);
  return {
    refuses: isSure ? more.refuses : found.refuses,
    mayRefuse: [...more.mayRefuse, ...(isSure ? [] : own), ...behind.mayRefuse],
    isWhole: isWhole && more.isWhole,
    asks,
  };
}

/** True for the C library's question, which has no name in some static programs. */
function questionTest(named: NamedCalls, code: ArmFunctions, isStatic: boolean) {
  const known = new Map<number, boolean>();
  return (target: number) =>
    remember(known, target, () => {
      const kind = named.kindAt(target, false);
      return kind === "auxiliary" || (kind === null && isStatic && isGetauxval(code, target));
    });
}

/** What the functions that ask are a sign of. */
function signsOf(asking: readonly number[], starts: readonly Start[], code: ArmFunctions): readonly string[] {
  const constructors = new Set(starts.flatMap(({ name, address }) => (name === atLoading ? [address] : [])));
  const isOfCompiler = (each: number) => constructors.has(each) && code.lengthFrom(each) <= longestOfCompiler;
  return [...new Set(asking.map((each) => (isOfCompiler(each) ? atomicsQuestion : "getauxval")))];
}

/** The functions that ask, or read an answer in the pages, but for Rust's questions. */
function askersOf(
  calls: ArmCalls,
  called: ReadonlySet<number>,
  { asksItself, reads }: Answering,
  pages: ReadonlySet<number>,
  questions: ReadonlySet<number>,
): ReadonlySet<number> {
  const direct = [...calls.callersOf(called)].filter(asksItself);
  const all = [...direct, ...calls.asked, ...calls.reading(pages, reads)];
  return new Set(all.filter((each) => !questions.has(each)));
}

/** The functions themselves, and those that call one, some calls above. */
function leadingTo(asking: ReadonlySet<number>, { callersOf }: ArmCalls): ReadonlySet<number> {
  const all = new Set(asking);
  for (let deep = 0; deep < mostDeep; deep++) for (const each of callersOf(all)) all.add(each);
  return all;
}

/** How functions end the program, by their names and by what they call. */
function endings(named: NamedCalls, code: ArmFunctions) {
  const endless = new Map<number, boolean>();
  const neverReturns = (target: number) => remember(endless, target, () => isEndless(code, target));
  const endingOf = (target: number, isPointer: boolean, deep: number): Ending | null => {
    const kind = named.kindAt(target, isPointer);
    if (kind !== null) return isEnding(kind) ? kind : null;
    // Rust's own abort calls others that call the C library's.
    if (deep === 0 || isPointer || !neverReturns(target)) return null;
    const called = new Set(calledIn(code.codeOf(target)).map((each) => endingOf(each, false, deep - 1)));
    return called.size === 1 && called.has("aborts") ? "aborts" : null;
  };
  return { endingOf, neverReturns };
}

/** The eight bytes of a place in the file; null outside it. */
function wordAt(source: ByteSource, elf: Elf, place: number): bigint | null {
  const offset = offsetOfAddress(elf, place);
  const bytes = offset === null ? null : source.read(offset, 8);
  return bytes === null || bytes.length < 8
    ? null
    : new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0, true);
}

/** The pages in which places stand, and pointers to them. */
function pagesOf(elf: Elf, places: readonly number[], pointers: FixedPointers): ReadonlySet<number> {
  const { address = 0, size = 0 } = elf.sections.find(({ name }) => name === ".got") ?? {};
  const table = Array.from({ length: Math.min(size / 8, mostInTable) }, (_, each) => address + 8 * each);
  const wanted = new Set(places);
  const all = [...places, ...table.filter((place) => wanted.has(pointers.at(place) ?? -1))];
  return new Set(all.flatMap((place) => [place, place - mostInFront].map((each) => Math.floor(each / 4096))));
}

/** Of constructors, of which a library has thousands, the first bytes are looked at. */
function isAsking({ name, address }: Start, { asks, mayAnswer }: Answering): boolean {
  return name === atLoading ? mayAnswer(address) : asks(address);
}

function refusalsOfStarts(
  starts: readonly Start[],
  callees: Answering,
  memory: Memory,
  budget: { left: number },
  visited: Set<number>,
): Refusals {
  const machineFor = (answer: Answer) => {
    const machine = arm64Machine(memory, answer);
    const step: typeof machine.step = (place, known) => {
      if (callees.isStart(place)) visited.add(place);
      return machine.step(place, known);
    };
    return { ...machine, step };
  };
  const been = new Set<number>();
  const found = starts.flatMap(({ name, address }) => {
    const isError = errors.find(({ of }) => of.test(name))?.is;
    if (isError === undefined || been.has(address) || !isAsking({ name, address }, callees)) return [];
    been.add(address);
    const mayGiveError = name === rustMain;
    const own = refusalsOf([address], { callees, machineFor, isError, mayGiveError, budget });
    // Of thousands of constructors each is looked at alone.
    return [name === atLoading || name === rustMain ? { ...own, isWhole: true } : own];
  });
  return {
    refuses: found.flatMap(({ refuses }) => refuses),
    mayRefuse: found.flatMap(({ mayRefuse }) => mayRefuse),
    isWhole: found.every(({ isWhole }) => isWhole),
  };
}
