/**
 * Finds programs in Go that ask the CPU and then refuse by themselves: in an `init` or in `main`, by the answers of `golang.org/x/sys/cpu` and of
 * `github.com/klauspost/cpuid`.
 */

import { compareText, remember } from "../../io/collections.ts";
import type { ByteSource } from "../byte-source.ts";
import { type Elf, elfMachine } from "../elf/elf.ts";
import type { FixedPointers } from "./fixed-pointers.ts";
import { anyOf, type GoAnswers, goAnswers, isGoAnswer } from "./go-answers.ts";
import { arm64GoCode, type GoCode, x86GoCode } from "./go-code.ts";
import { goFunctionRanges, goFunctionsNamed } from "./go-functions.ts";
import type { Ending } from "./named-calls.ts";
import { mostCallees, mostStepsOfFile, noRefusals, type Refusals, refusalsOf } from "./refusals.ts";

/** A package path has no parenthesis, and its last name no dot; a method has one before its name. */
const initOf = /^(?:.*\/)?[^/.()]+\.init(?:\.\d+)?$/;
const ownInit = /(?:^|\/)(?:golang\.org\/x\/sys\/cpu|github\.com\/klauspost\/cpuid(?:\/v\d+)?)\.init/;

/** What ends a program in Go. By custom, all loggers end it behind `Fatal`. */
const endings: readonly { readonly of: RegExp; readonly is: Ending | "panics" }[] = [
  { of: /^os\.Exit$/, is: "status" },
  { of: /\.Fatal(?:f|ln|w)?$/, is: "aborts" },
  { of: /^runtime\.(?:throw|fatal|fatalthrow|abort)(?:\.abi0)?$/, is: "aborts" },
  { of: /^runtime\.gopanic$/, is: "panics" },
  // An index that is out of range is no refusal, and the stack only grows.
  { of: /^runtime\.(?:goPanic|panic|morestack)\w*(?:\.abi0)?$/, is: "never" },
];
/** What makes an error gives no nil back; where Go's own `fmt.errorf` does, code behind the call makes another error. */
const errors = /^(?:errors\.New|fmt\.[Ee]rrorf|github\.com\/pkg\/errors\.(?:New|Errorf))$/;
/** Called by functions with a `defer`, which may catch a panic. */
const deferred = "runtime.deferreturn";

const main = "main.main";

/** What stands in the names, of which only few are looked at. */
const marks = ["/cpu", ".init", main, "os.Exit", ".Fatal", "runtime.", "errors.", "fmt."];
const isWanted = (name: string) =>
  name === main ||
  name === deferred ||
  initOf.test(name) ||
  isGoAnswer(name) ||
  errors.test(name) ||
  endings.some(({ of }) => of.test(name));

const [mostInits, mostKept] = [64, 1024];
/** So many calls lead to the function that asks: Go hands on an error through some functions. */
const mostCalls = 2;

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

/** The variables of a package before its functions, and `main` last. */
function byOrder([, one]: readonly [number, string], [, other]: readonly [number, string]): number {
  const keyOf = (name: string) => {
    const [, path = "", count = "-1"] = /^(.*)\.init(?:\.(\d+))?$/.exec(name) ?? [];
    return { isMain: Number(path === "main"), path, count: Number(count) };
  };
  const [a, b] = [keyOf(one), keyOf(other)];
  return a.isMain - b.isMain || compareText(a.path, b.path) || a.count - b.count;
}

function ofStarts(
  elf: Elf,
  code: GoCode,
  names: ReadonlyMap<number, string>,
  { answers, numbered, questions }: GoAnswers,
): Refusals {
  const places = new Set(answers.keys());
  const calledBy = (target: number) => code.called(target, questions).slice(0, mostCallees);
  const leading = new Map<string, boolean>();
  /** The function asks, or calls one that does. */
  const leads = (target: number, calls = mostCalls): boolean =>
    remember(
      leading,
      `${target} ${calls} ${places.size}`,
      () =>
        questions.has(target) ||
        code.reads(target, places) ||
        (calls > 0 && calledBy(target).some((each) => leads(each, calls - 1))),
    );
  const [last] = [...names].find(([, name]) => name === main) ?? [];
  const all = [...names].filter(([, name]) => initOf.test(name) && !ownInit.test(name)).sort(byOrder);
  const askingInits = () => all.flatMap(([at]) => (leads(at) ? [at] : [])).slice(0, mostInits);
  // What one keeps the next one and `main` may read.
  for (const place of askingInits().flatMap(code.written).slice(0, mostKept)) places.add(place);
  const inits = askingInits();
  const isMainAsking = last !== undefined && leads(last);
  const starts = [...inits, ...(isMainAsking ? [last] : [])];
  if (starts.length === 0) return noRefusals;
  const entered = starts.flatMap((start) => [start, ...calledBy(start)]);
  const recovering = new Set([...names].flatMap(([at, name]) => (name === deferred ? [at] : [])));
  const mayRecover = entered.some((each) => code.called(each, recovering).some((at) => recovering.has(at)));
  // The numbers that a start writes down are those of which the start asks.
  const numbers = entered.flatMap(code.numbers).flatMap((each) => numbered?.[each] ?? []);
  const anyBit = numbered === null ? null : [anyOf(elf, numbers)];
  const found = refusalsOf(starts, {
    isError: () => false,
    budget: { left: mostStepsOfFile },
    ...code.walk({
      ...{ answers, mayAnswer: (target: number) => leads(target), anyBit },
      givenBack: (target) => (questions.has(target) ? anyBit : null),
      givesAddress: (target) => errors.test(names.get(target) ?? ""),
      endOf(target) {
        const name = names.get(target);
        const is = name === undefined ? undefined : endings.find(({ of }) => of.test(name))?.is;
        return is === "panics" ? (mayRecover ? "throws" : "aborts") : (is ?? null);
      },
    }),
  });
  // An `init` of a library that is too long to follow says nothing.
  return isMainAsking ? found : { ...found, isWhole: true };
}
