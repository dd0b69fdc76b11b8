/** The words of `--expect`: `sm_80 !sm_70 ptx>=90 march<=x86-64-v3 driver<=550 glibc<=2.28`. */

import type { Place, Problem } from "../../errors.ts";
import { parseAmdTarget } from "../../hardware/amd-target.ts";
import { type ComputeCapability, parseComputeCapability } from "../../hardware/compute-capability.ts";
import { findMarch, marchNames } from "../../hardware/cpu-marches.ts";
import { parseVersion, type VersionParts } from "../../hardware/driver-version.ts";
import { formatGpuTarget, readTargets } from "../../hardware/gpu-target.ts";
import { didYouMean, suggest, suggestMarch } from "../../io/suggest.ts";

export interface Expectations {
  readonly words: readonly Expectation[];
  /** Each library with GPU code has to meet the words about targets, not all of them together. */
  readonly perLibrary: boolean;
}

export type Expectation = Meaning & {
  /** As it was written. */
  readonly word: string;
  readonly at: Place;
};

type Meaning =
  /** `sm_90a`, `compute_90` or `gfx90a:xnack-`, which has to be there, or must not be. */
  | { readonly kind: "target"; readonly target: string; readonly isThere: boolean }
  | { readonly kind: "ptx"; readonly isThere: boolean; readonly from: ComputeCapability | null }
  | { readonly kind: "no-gpu-code" | "musl" }
  | { readonly kind: "gpu-code"; readonly most: number }
  | { readonly kind: "cuda"; readonly operator: Operator; readonly version: VersionParts }
  | { readonly kind: "driver" | "glibc"; readonly most: VersionParts }
  | { readonly kind: "march" | "may-use"; readonly march: string };

export type Operator = "" | "<=" | ">=" | "==";

/** The form of a word, and the meaning of its value; null for a wrong value. */
interface Word {
  readonly operators: readonly Operator[];
  readonly example: string;
  read(value: string, operator: Operator): Meaning | null;
}

const perLibrary = "per-library";

const words: Readonly<Record<string, Word>> = {
  ptx: {
    operators: ["", ">="],
    example: "ptx>=90",
    read(value, operator) {
      const from = operator === "" ? null : computeOf(value);
      return operator !== "" && from === null ? null : { kind: "ptx", isThere: true, from };
    },
  },
  "no-gpu-code": { operators: [""], example: "no-gpu-code", read: () => ({ kind: "no-gpu-code" }) },
  "gpu-code": {
    operators: ["<="],
    example: "gpu-code<=500MB",
    read(value) {
      const most = bytesOf(value);
      return most === null ? null : { kind: "gpu-code", most };
    },
  },
  cuda: {
    operators: ["==", "<=", ">="],
    example: "cuda==12",
    read(value, operator) {
      const version = parseVersion(value);
      return version === null ? null : { kind: "cuda", operator, version };
    },
  },
  driver: { operators: ["<="], example: "driver<=550", read: atMost("driver") },
  glibc: { operators: ["<="], example: "glibc<=2.28", read: atMost("glibc") },
  musl: { operators: [""], example: "musl", read: () => ({ kind: "musl" }) },
  march: { operators: ["<="], example: "march<=x86-64-v3", read: levelOf("march") },
  "may-use": { operators: ["<="], example: "may-use<=x86-64-v4", read: levelOf("may-use") },
};

const examples = [
  "sm_80",
  "!sm_70",
  "compute_90",
  "gfx90a",
  ...Object.values(words).map(({ example }) => example),
  perLibrary,
];

export interface WrittenWord {
  readonly word: string;
  readonly at: Place;
}

/** The words of a text; `placeOf` is where one that begins at a character of it stands. */
export function wordsIn(text: string, placeOf: (offset: number) => Place): readonly WrittenWord[] {
  return [...text.matchAll(/\S+/g)].map(({ 0: word, index }) => ({ word, at: placeOf(index) }));
}

/** `whole` is the place of all of them. Answers every mistake. */
export function parseExpectations(
  written: readonly WrittenWord[],
  whole: Place,
): { readonly expectations: Expectations; readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const found: Expectation[] = [];
  let isPerLibrary: Place | null = null;
  for (const { word, at } of written) {
    if (word === perLibrary) {
      isPerLibrary = at;
      continue;
    }
    const meaning = meaningOf(word);
    if (Array.isArray(meaning)) found.push(...meaning.map((each) => ({ ...each, word, at })));
    else problems.push({ code: "EXPECT_INVALID", ...meaning, at });
  }
  if (problems.length === 0 && found.length === 0)
    problems.push({
      code: "EXPECT_INVALID",
      message: "nothing is expected here",
      fix: `write some of ${examples.join(" ")}`,
      at: written[0]?.at ?? whole,
    });
  if (isPerLibrary !== null && !found.some(({ kind }) => kind === "target" || kind === "ptx"))
    problems.push({
      code: "EXPECT_INVALID",
      message: `${perLibrary} needs a word about targets or PTX`,
      fix: "write sm_80 per-library, or leave it out",
      at: isPerLibrary,
    });
  return { expectations: { words: found, perLibrary: isPerLibrary !== null }, problems };
}

type Mistake = Pick<Problem, "message"> & { readonly fix: string };

function meaningOf(word: string): Meaning[] | Mistake {
  const isThere = !word.startsWith("!");
  const plain = isThere ? word : word.slice(1);
  const targets = readTargets(/^\d{2,3}[af]?$/.test(plain) ? `sm_${plain}` : plain);
  if (targets !== null)
    return targets.map((target) => ({ kind: "target", target: formatGpuTarget(target), isThere }));
  if (isAmdTarget(plain)) return [{ kind: "target", target: plain, isThere }];
  if (word === "!ptx") return [{ kind: "ptx", isThere, from: null }];
  const [, name = "", operator = "", value = ""] = /^([^<>=]*)([<>=]*)(.*)$/.exec(word) ?? [];
  const known = Object.hasOwn(words, name) ? words[name] : undefined;
  if (known === undefined) return unknownWord(word, name, `${operator}${value}`);
  if (!isOperator(operator) || !known.operators.includes(operator) || (operator === "" && value !== ""))
    return { message: `${word} is not understood`, fix: `${name} is written ${known.example}` };
  const meaning = known.read(value, operator);
  if (meaning !== null) return [meaning];
  const near = name === "march" || name === "may-use" ? suggestMarch(value, marchNames()) : null;
  return {
    message: `${word}: ${JSON.stringify(value)} is no value of ${name}`,
    fix: `${didYouMean(near && `${name}${operator}${near}`)}${name} is written ${known.example}`,
  };
}

/** One that the tables have, in its canonical form. */
export function isAmdTarget(name: string): boolean {
  return parseAmdTarget(name) === name;
}

function unknownWord(word: string, name: string, rest: string): Mistake {
  const near = nearTarget(word) ?? suggest(name, [...Object.keys(words), perLibrary]);
  const isWhole = near !== null && Object.hasOwn(words, near) && rest !== "";
  return {
    message: `${word} is no word that --expect knows`,
    fix: `${didYouMean(isWhole ? `${near}${rest}` : near)}the words are ${examples.join(" ")}`,
  };
}

/** `sm90`, `SM_90`, `sm-90`. */
function nearTarget(word: string): string | null {
  const [, not, kind = "", number] = /^(!?)(sm|compute)[_-]?(\d{2,3}[af]?)$/i.exec(word) ?? [];
  return number === undefined ? null : `${not}${kind.toLowerCase()}_${number}`;
}

function isOperator(text: string): text is Operator {
  return ["", "<=", ">=", "=="].includes(text);
}

/** `9.0`, `90`, `sm_90`, `compute_90`. */
function computeOf(text: string): ComputeCapability | null {
  const [, major, minor] = /^(?:sm_|compute_)?(\d{1,2})\.?(\d)$/.exec(text) ?? [];
  return parseComputeCapability(`${major}.${minor}`);
}

const units: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  KIB: 2 ** 10,
  MIB: 2 ** 20,
  GIB: 2 ** 30,
};

function bytesOf(text: string): number | null {
  const [, number, unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)([a-z]{1,3})$/i.exec(text) ?? [];
  const bytes = units[unit.toUpperCase()];
  return number === undefined || bytes === undefined ? null : Number(number) * bytes;
}

function atMost(kind: "driver" | "glibc"): Word["read"] {
  return (value) => {
    const most = parseVersion(value);
    return most === null ? null : { kind, most };
  };
}

function levelOf(kind: "march" | "may-use"): Word["read"] {
  return (march) => (findMarch(march) === null ? null : { kind, march });
}
