/**
 * Finds programs in Go that ask the CPU and then refuse by themselves: in an `init` or in `main`, by the answers of `golang.org/x/sys/cpu` and of
 * `github.com/klauspost/cpuid`.
 */

import { compareText, remember } from "../../io/collections.ts";
import type { ByteSource } from "../byte-source.ts";
import { type Elf, elfMachine } from "../elf/elf.ts";
import { exactRefusals } from "./exact-refusals.ts";
import type { FixedPointers } from "./fixed-pointers.ts";
import { anyOf, type GoAnswers, goAnswers, isGoAnswer } from "./go-answers.ts";
import { isLeaving, isRunning, leftBy, startsLater } from "./go-runtime-calls.ts";
import { arm64GoCode, type GoCode, x86GoCode } from "./go-code.ts";
import { goFunctionRanges, goFunctionsNamed } from "./go-functions.ts";
import type { Ending } from "./named-calls.ts";
import { longestAnswer } from "./way-calls.ts";
import { longestHanded } from "./way-states.ts";
import { mostStepsOfFile, noRefusals, type Refusals } from "./refusals.ts";

/** A package path has no parenthesis, and its last name no dot; a method has one before its name. */
const initOf = /^(?:.*\/)?[^/.()]+\.init(?:\.\d+)?$/;
const ownInit = /(?:^|\/)(?:golang\.org\/x\/sys\/cpu|github\.com\/klauspost\/cpuid(?:\/v\d+)?)\.init/;

/** What ends a program in Go. By custom, all loggers end it behind `Fatal`. */
const endings: readonly { readonly of: RegExp; readonly is: Ending | "panics" }[] = [
  { of: /^os\.Exit$/, is: "status" },
  { of: /\.Fatal(?:f|ln|w)?$/, is: "aborts" },
  { of: /^runtime\.(?:throw|fatal|fatalthrow|abort)(?:\.abi0)?$/, is: "aborts" },
  { of: /^runtime\.gopanic$/, is: "panics" },
  // An index that is out of range is no refusal, and the stack only grows. Where memory is tidied meanwhile, the same happens as else.
  { of: /^runtime\.(?:goPanic|panic|morestack|gcWriteBarrier)\w*(?:\.abi0)?$/, is: "never" },
];
/** Functions that copy what is kept are entered in the middle. */
const copying = /^runtime\.duff(?:copy|zero)$/;
/** Called by functions with a `defer`, which may catch a panic. */
const deferred = "runtime.deferreturn";

const main = "main.main";

/** What stands in the names, of which only few are looked at. */
const marks = [
  "/cpu",
  ".init",
  main,
  "os.Exit",
  ".Fatal",
  "runtime.",
  "errors.",
  "fmt.",
  "strings.Join",
  "sync.",
  "time.AfterFunc",
];
const isWanted = (name: string) =>
  name === main ||
  name === deferred ||
  isLeaving(name) ||
  isRunning(name) ||
  copying.test(name) ||
  initOf.test(name) ||
  isGoAnswer(name) ||
  endings.some(({ of }) => of.test(name));

/** More than any program has that was seen; where one has more, nothing is proved. */
const [mostInits, mostKept, mostCallees] = [256, 2 ** 14, 4096];

/** How far functions are followed: so many calls lead to the one that asks, and none of these has more bytes. */
interface Reach {
  readonly calls: number;
  readonly longest: number;
}
/** Go hands on an error through some functions. */
const near: Reach = { calls: 2, longest: longestAnswer };
/** A function that looks for some features, and makes an error for each, has some thousand bytes. */
const far: Reach = { calls: 4, longest: 4096 };
/**
 * So many steps are taken as far as that, fewer through a program whose `main` does not seem to ask, and fewer from a function that asks and ends the
 * program.
 */
const [mostFar, mostOfOthers, mostOfEnding] = [20_000, 2000, 5000];

export function goRefusals(source: ByteSource, elf: Elf, pointers: FixedPointers): Refusals {
  const names = goFunctionsNamed(source, elf, marks, isWanted);
  if (![...names.values()].some(isGoAnswer)) return noRefusals;
  const code = (elf.machine === elfMachine.x86_64 ? x86GoCode : arm64GoCode)(
    source,
    elf,
    goFunctionRanges(source, elf),
    pointers,
  );
  try {
    const found = goAnswers(source, elf, code, names);
    return found.answers.size === 0 ? noRefusals : ofStarts(elf, code, names, found);
  } finally {
    code.free();
  }
}

/** How functions end the program, by their names. `mayRecover`: a panic may be caught. */
function endsOf(names: ReadonlyMap<number, string>, mayRecover: boolean) {
  return (target: number): Ending | null => {
    const name = names.get(target);
    const is = name === undefined ? undefined : endings.find(({ of }) => of.test(name))?.is;
    return is === "panics" ? (mayRecover ? "throws" : "aborts") : (is ?? null);
  };
}

/** The variables of a package before its functions, and `main` last. */
function byOrder([, one]: readonly [number, string], [, other]: readonly [number, string]): number {
  const keyOf = (name: string) => {
    const [, path = "", count = "-1"] = /^(.*)\.init(?:\.(\d+))?$/.exec(name) ?? [];
    return { isMain: Number(path === "main"), path, count: Number(count) };
  };
  const [a, b] = [keyOf(one), keyOf(other)];
  return a.isMain - b.isMain || compareText(a.path, b.path) || a.count - b.count;
}

/** Tells which functions lead to a question, by what they call, and run by others. What is kept is among `places` later. */
function leadingIn(
  code: GoCode,
  names: ReadonlyMap<number, string>,
  questions: ReadonlySet<number>,
  places: ReadonlySet<number>,
) {
  const running = new Set([...names].flatMap(([at, name]) => (isRunning(name) ? [at] : [])));
  const special = new Set([...questions, ...running]);
  const calledBy = (target: number, { longest }: Reach) => {
    const called = code.called(target, longest, special);
    const handed = called.some((each) => running.has(each)) ? code.handed(target, longest) : [];
    return [...handed, ...called];
  };
  const leading = new Map<string, boolean>();
  /** The function asks, or calls one that does. */
  const leads = (target: number, { calls, longest }: Reach): boolean =>
    remember(
      leading,
      `${target} ${calls} ${longest} ${places.size}`,
      () =>
        questions.has(target) ||
        code.reads(target, places) ||
        (calls > 0 &&
          calledBy(target, { calls, longest }).some((each) => leads(each, { calls: calls - 1, longest }))),
    );
  return { running, calledBy, leads };
}

function ofStarts(
  elf: Elf,
  code: GoCode,
  names: ReadonlyMap<number, string>,
  { answers, numbered, questions }: GoAnswers,
): Refusals {
  const places = new Set(answers.keys());
  let isBounded = false;
  const bounded = <Each>(all: readonly Each[], most: number): readonly Each[] => {
    isBounded ||= all.length > most;
    return all.slice(0, most);
  };
  const { running, calledBy, leads } = leadingIn(code, names, questions, places);
  const [last] = [...names].find(([, name]) => name === main) ?? [];
  const all = [...names].filter(([, name]) => initOf.test(name) && !ownInit.test(name)).sort(byOrder);
  const askingInits = () =>
    bounded(
      all.flatMap(([at, name]) => (leads(at, name.startsWith("main.") ? far : near) ? [at] : [])),
      mostInits,
    );
  // What one keeps the next one and `main` may read.
  for (const place of bounded(askingInits().flatMap(code.written), mostKept)) places.add(place);
  const inits = askingInits();
  const mains = last === undefined ? [] : [last];
  const starts = [...inits, ...mains];
  if (starts.length === 0) return noRefusals;
  const entered = starts.flatMap((start) => [start, ...bounded(calledBy(start, far), mostCallees)]);
  const recovering = new Set([...names].flatMap(([at, name]) => (name === deferred ? [at] : [])));
  const mayRecover = entered.some((each) =>
    code.called(each, near.longest, recovering).some((at) => recovering.has(at)),
  );
  const copies = [...names].flatMap(([at, name]) => (copying.test(name) ? [at] : []));
  const isCopying = (target: number) => copies.some((at) => target >= at && target < (code.endOf(at) ?? at));
  // The numbers that a start writes down are those of which the start asks.
  const numbers = entered.flatMap(code.numbers).flatMap((each) => numbered?.[each] ?? []);
  const anyBit = numbered === null ? null : [anyOf(elf, numbers)];
  const endOf = endsOf(names, mayRecover);
  let isMerged = false;
  const relied = reliedData(code);
  const ask = (all: readonly number[], reach: Reach, left: number) =>
    exactRefusals(all, {
      visited: relied.visited,
      isError: () => false,
      isMerged: () => isMerged,
      budget: { left },
      ...code.walk({
        relies: relied.relies,
        ...{ answers, mayAnswer: (target: number) => leads(target, reach) || isCopying(target), anyBit },
        givenBack: (target) => (questions.has(target) ? anyBit : null),
        longest: () => reach.longest,
        go: {
          handsOut: relied.handsOut,
          runs(target, handed) {
            const isRun = running.has(target) && leads(handed, reach);
            isMerged ||= isRun && startsLater(names.get(target) ?? "");
            return isRun;
          },
          leaves(target, ...rest) {
            const left = leftBy(names.get(target) ?? "", target, ...rest);
            isMerged ||= left?.isMerged === true;
            return left;
          },
        },
        endOf,
      }),
    });
  const asking = (reach: Reach) => mains.filter((each) => leads(each, reach));
  const isEnding = (each: number) =>
    code.called(each, Number.POSITIVE_INFINITY).some((to) => !["never", null].includes(endOf(to)));
  /** The functions that ask, are called by the one, and call what ends the program. */
  const endingBehind = (target: number, { calls, longest }: Reach): readonly number[] => {
    const left = { calls: calls - 1, longest };
    const called = calls === 0 ? [] : calledBy(target, left).filter((each) => leads(each, left));
    return called.flatMap((each) => [...(isEnding(each) ? [each] : []), ...endingBehind(each, left)]);
  };
  const farAway = asking(far);
  // A list may have answers of which the code of `main` tells nothing.
  const whole = ask(starts, far, farAway.length > 0 ? mostFar : mostOfOthers);
  const found = whole ?? ask([...inits, ...asking(near)], near, mostStepsOfFile);
  // An `init` of a library that is too long to follow says nothing.
  if (found === null) return { ...noRefusals, isWhole: asking(near).length === 0 };
  const { refuses, mayRefuse } = found;
  if (refuses.length + mayRefuse.length === 0) {
    // Too long to follow whole: what ends the program is followed by itself.
    const ending = whole === null ? new Set(farAway.flatMap((each) => endingBehind(each, far))) : [];
    const more = [...ending].flatMap(
      (each) => ask([each], { ...far, calls: far.calls - 1 }, mostOfEnding) ?? noRefusals,
    );
    const mayRefuse = new Set(more.flatMap((each) => [...each.refuses, ...each.mayRefuse]));
    return { ...noRefusals, mayRefuse: [...mayRefuse].sort(), isWhole: !isBounded };
  }
  const isSure = refuses.length === 0 || relied.isSure();
  return isSure ? found : { ...found, refuses: [], mayRefuse: [...refuses, ...mayRefuse].sort() };
}

/** Collects the data that ways rely on, and tells whether these may have something else: whoever has an address may write there. */
function reliedData(code: GoCode) {
  const kept = { places: new Map<number, number>(), by: new Set<number>(), pointers: new Set<number>() };
  const given = new Set<number>();
  let isHandedOut = false;
  return {
    visited: kept.by,
    relies(place: number, isAddress: boolean) {
      if (kept.places.has(place) || !code.isWritable(place)) return;
      kept.places.set(place, isAddress ? 8 : 1);
      if (isAddress) kept.pointers.add(place);
    },
    handsOut(place: number, hasAnswer: boolean) {
      isHandedOut ||= hasAnswer;
      if (code.isWritable(place)) given.add(place);
    },
    isSure() {
      const isGiven = [...kept.places.keys()].some((place) =>
        [...given].some((at) => place >= at && place < at + longestHanded),
      );
      return !isHandedOut && !isGiven && (kept.places.size === 0 || !code.areWritten(kept));
    },
  };
}
