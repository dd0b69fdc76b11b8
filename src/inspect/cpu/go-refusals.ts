/**
 * Finds programs in Go that ask the CPU and then refuse by themselves: in an `init` or in `main`, by the answers of `golang.org/x/sys/cpu` and of
 * `github.com/klauspost/cpuid`.
 */

import { remember } from "../../io/collections.ts";
import type { ByteSource } from "../byte-source.ts";
import { type Elf, elfMachine, offsetOfAddress } from "../elf/elf.ts";
import { u64 } from "../little-endian.ts";
import bits from "./asked-features.json" with { type: "json" };
import type { FixedPointers } from "./fixed-pointers.ts";
import type { readFunctionRanges } from "./function-ranges.ts";
import { arm64GoCode, type GoCode, x86GoCode } from "./go-code.ts";
import { goFunctionsNamed } from "./go-functions.ts";
import type { Ending } from "./named-calls.ts";
import { mostCallees, mostStepsOfFile, noRefusals, type Refusals, refusalsOf } from "./refusals.ts";

/** A package path has no parenthesis, and its last name no dot; a method has one before its name. */
const initOf = /^(?:.*\/)?[^/.()]+\.init(?:\.\d+)?$/;
const options = /(?:^|\/)golang\.org\/x\/sys\/cpu\.initOptions$/;
const ownInit =
  /(?:^|\/)(?:golang\.org\/x\/sys\/cpu|internal\/cpu|github\.com\/klauspost\/cpuid(?:\/v\d+)?)\.init/;
const cpuid = "github\\.com/klauspost/cpuid(?:/v\\d+)?\\.";
const detect = new RegExp(`^${cpuid}Detect$`);
const asked = new RegExp(
  `^${cpuid}\\(?\\*?CPUInfo\\)?\\.(?:Supports|Has|HasAll|AnyOf|X64Level|AVX512|AMX|F16|AVX2?)$`,
);

/** What ends a program in Go. By custom, all loggers end it behind `Fatal`. */
const endings: readonly { readonly of: RegExp; readonly is: Ending | "panics" }[] = [
  { of: /^os\.Exit$/, is: "status" },
  { of: /[.)]\.?Fatal(?:f|ln|w)?$/, is: "aborts" },
  { of: /^runtime\.(?:throw|fatal|fatalthrow|abort)(?:\.abi0)?$/, is: "aborts" },
  { of: /^runtime\.gopanic$/, is: "panics" },
  // An index that is out of range is no refusal, and the stack only grows.
  { of: /^runtime\.(?:goPanic|panic|morestack)\w*(?:\.abi0)?$/, is: "never" },
];
/** Called by functions with a `defer`, which may catch a panic. */
const deferred = "runtime.deferreturn";

const [mostOptions, optionBytes, longestOption] = [128, 32, 24];
const mostInits = 64;
const mostCalls = 2;
/** Brand, vendor and hypervisor stand before the bits in the answer of klauspost/cpuid (v2, CPUInfo): five texts and numbers at most. */
const cpuidBytes = 128;

export function goRefusals(
  source: ByteSource,
  elf: Elf,
  functions: ReturnType<typeof readFunctionRanges>,
  pointers: FixedPointers,
): Refusals {
  const isWanted = (name: string) =>
    [/^main\.main$/, initOf, options, detect, asked, ...endings.map(({ of }) => of)].some((each) =>
      each.test(name),
    ) || name === deferred;
  const names = goFunctionsNamed(source, elf, isWanted);
  const named = (wanted: RegExp) => [...names].flatMap(([at, name]) => (wanted.test(name) ? [at] : []));
  if ([...named(options), ...named(detect)].length === 0) return noRefusals;
  const code = (elf.machine === elfMachine.x86_64 ? x86GoCode : arm64GoCode)(
    source,
    elf,
    functions,
    pointers,
  );
  try {
    const answers = new Map<number, readonly string[]>();
    for (const place of named(detect).flatMap((at) => cpuidPlaces(code.taken(at), elf)))
      answers.set(place, new Array(64).fill(anyOf));
    for (const at of named(options))
      for (const [place, name] of optionsIn(source, elf, code.taken(at)))
        answers.set(place, [name, ..."0000000"]);
    return answers.size === 0 ? noRefusals : ofStarts(code, names, answers, named(detect).length > 0);
  } finally {
    code.free();
  }
}

function ofStarts(
  code: GoCode,
  names: ReadonlyMap<number, string>,
  answers: ReadonlyMap<number, readonly string[]>,
  /** The program asks by the number of a feature. */
  isCounted: boolean,
): Refusals {
  const questions = new Set([...names].flatMap(([at, name]) => (asked.test(name) ? [at] : [])));
  const places = new Set(answers.keys());
  const leading = new Map<string, boolean>();
  /** A function asks, or calls one that does: Go hands on an error through some functions. */
  const leads = (target: number, calls = mostCalls): boolean =>
    remember(
      leading,
      `${target} ${calls} ${places.size}`,
      () =>
        questions.has(target) ||
        code.reads(target, places) ||
        (calls > 0 &&
          code
            .called(target)
            .slice(0, mostCallees)
            .some((each) => leads(each, calls - 1))),
    );
  const inits = [...names].flatMap(([at, name]) =>
    initOf.test(name) && !ownInit.test(name) && leads(at) ? [at] : [],
  );
  const [main] = [...names].find(([, name]) => name === "main.main") ?? [];
  // `main` may read what an `init` keeps.
  for (const place of inits.slice(0, mostInits).flatMap(code.written)) places.add(place);
  const isMainAsking = main !== undefined && leads(main);
  const starts = [...inits.slice(0, mostInits), ...(isMainAsking ? [main] : [])];
  if (starts.length === 0) return noRefusals;
  const entered = starts.flatMap((start) => [start, ...code.called(start).slice(0, mostCallees)]);
  const mayRecover = entered.flatMap(code.called).some((target) => names.get(target) === deferred);
  const found = refusalsOf(starts, {
    isError: () => false,
    budget: { left: mostStepsOfFile },
    ...code.walk({
      ...{ answers, mayAnswer: (target: number) => leads(target), anyBit: isCounted ? [anyOf] : null },
      givenBack: (target) => (questions.has(target) ? new Array(8).fill(anyOf) : null),
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

/** What stands for one of the features, as each version of klauspost/cpuid has other numbers. */
const anyOf = [...new Set(`${bits.rust} ${bits.laterRust.replaceAll("|", " ")}`.split(" "))]
  .filter((name) => name !== "-")
  .join("|");

/** True for data that is zeros at the start of the program; the file does not have them. */
const isEmpty = (elf: Elf, place: number) =>
  offsetOfAddress(elf, place) === null &&
  elf.sections.some(
    ({ name, address }) => /^\.(?:noptr)?bss$/.test(name) && place >= address && place < address + mostData,
  );
const mostData = 2 ** 31;

/** `Detect` hands on the answer's address first. */
function cpuidPlaces(taken: readonly number[], elf: Elf): readonly number[] {
  const [answer] = taken.filter((place) => isEmpty(elf, place));
  return answer === undefined ? [] : Array.from({ length: cpuidBytes / 8 }, (_, each) => answer + 8 * each);
}

/**
 * The list of options has a name for each answer: `initOptions` copies a list of names, and writes the answers' addresses into the copy in the
 * same order (golang.org/x/sys, cpu/cpu_x86.go and cpu/cpu_arm64.go). Gives the features by the places of the answers.
 */
function optionsIn(source: ByteSource, elf: Elf, taken: readonly number[]): readonly [number, string][] {
  const places = [...new Set(taken.filter((place) => isEmpty(elf, place)))];
  const lists = taken.map((place) => namesIn(source, elf, place));
  // Behind the answers the copy itself may be written to a place.
  const list = lists.find(
    ({ length }) => length > 0 && (length === places.length || length + 1 === places.length),
  );
  const known: Readonly<Record<string, string>> = bits.go;
  return places.slice(0, list?.length).map((place, index) => {
    const name = list?.[index];
    return [place, name === undefined ? anyOf : (known[name] ?? name)];
  });
}

function namesIn(source: ByteSource, elf: Elf, place: number): readonly string[] {
  const offset = offsetOfAddress(elf, place);
  const list = offset === null ? new Uint8Array(0) : source.read(offset, mostOptions * optionBytes);
  const found: string[] = [];
  for (let at = 0; at + optionBytes <= list.length; at += optionBytes) {
    const [text, length] = [offsetOfAddress(elf, u64(list, at)), u64(list, at + 8)];
    const isName = text !== null && length > 0 && length <= longestOption;
    const name = isName ? Buffer.from(source.read(text, length)).toString("latin1") : "";
    if (!/^[a-z0-9]+$/.test(name)) break;
    found.push(name);
  }
  return found;
}
