/** Parses the words of `--expect`: `sm_80 !sm_70 ptx>=90 march<=x86-64-v3 driver<=550 glibc<=2.28`. */

import type { Place, Problem } from "../../errors.ts";
import { parseAmdTarget } from "../../hardware/amd-target.ts";
import { nearMarch } from "../../hardware/compiler-names.ts";
import { formatGpuTarget, readTargets } from "../../hardware/gpu-target.ts";
import { didYouMean, suggest } from "../../io/suggest.ts";
import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import { ptxIsNowhere } from "./nvidia-checks.ts";
import { type Check, type Operator, targetIsNowhere, targetIsThere } from "./word-checks.ts";
import { type ExpectationWord, expectationWords, isExpectationWord } from "./expectation-words.ts";

export interface Expectations {
  readonly words: readonly Expectation[];
  /** Each library with GPU code must meet the words about targets; otherwise all libraries together must. */
  readonly perLibrary: boolean;
}

export interface Expectation extends WrittenWord {
  readonly kind: "target" | ExpectationWord;
  /** The text behind the operator; empty for a word without one. */
  readonly value: string;
  readonly check: Check;
}

export interface WrittenWord {
  /** As it was written. */
  readonly word: string;
  readonly at: Place;
}

const perLibrary = "per-library";

const examples = [
  "sm_80",
  "!sm_70",
  "compute_90",
  "gfx90a",
  ...Object.values(expectationWords).map(({ example }) => example),
  perLibrary,
];

/** The words of a text; `placeOf` maps a character of the text to its place. */
export function wordsIn(text: string, placeOf: (offset: number) => Place): readonly WrittenWord[] {
  return [...text.matchAll(/\S+/g)].map(({ 0: word, index }) => ({ word, at: placeOf(index) }));
}

/** `whole` is the place of all words together. Returns every mistake. */
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
    const parsed = parseWord(word);
    if (Array.isArray(parsed)) found.push(...parsed.map((each) => ({ ...each, word, at })));
    else problems.push({ code: "EXPECT_INVALID", ...parsed, at });
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

type ParsedWord = Omit<Expectation, keyof WrittenWord>;
type Mistake = Pick<Problem, "message"> & { readonly fix: string };

function parseWord(word: string): ParsedWord[] | Mistake {
  const isThere = !word.startsWith("!");
  const bare = isThere ? word : word.slice(1);
  for (const vendor of gpuVendors) {
    const targets = targetsIn[vendor](bare);
    if (targets.length > 0) return targets.map((target) => targetWord(vendor, target, isThere));
  }
  if (word === "!ptx") return [{ kind: "ptx", value: "", check: ptxIsNowhere }];
  const [, name = "", operator = "", value = ""] = /^([^<>=]*)([<>=]*)(.*)$/.exec(word) ?? [];
  if (!isExpectationWord(name)) return unknownWord(word, name, `${operator}${value}`);
  const { example, operators, check } = expectationWords[name];
  const known = (operators as readonly Operator[]).find((each) => each === operator);
  if (known === undefined || (known === "" && value !== ""))
    return { message: `${word} is not understood`, fix: `${name} is written ${example}` };
  const found = check(value, known);
  if (found !== null) return [{ kind: name, value, check: found }];
  const near = name === "march" || name === "may-use" ? nearMarch(value) : null;
  return {
    message: `${word}: ${JSON.stringify(value)} is no value of ${name}`,
    fix: `${didYouMean(near && `${name}${operator}${near}`)}${name} is written ${example}`,
  };
}

/** The targets of a vendor that a word names; empty for another word. */
const targetsIn: Readonly<Record<GpuVendor, (word: string) => readonly string[]>> = {
  nvidia: (word) =>
    (readTargets(/^\d{2,3}[af]?$/.test(word) ? `sm_${word}` : word) ?? []).map(formatGpuTarget),
  // A target that the tables have, in its canonical form.
  amd: (word) => (parseAmdTarget(word) === word ? [word] : []),
};

function targetWord(vendor: GpuVendor, target: string, isThere: boolean): ParsedWord {
  const isMeant = (name: string) => name === target;
  // `!gfx90a` excludes every state of xnack and sramecc; `gfx90a` asks for the code without a state.
  const isExcluded = (name: string) => isMeant(name) || name.startsWith(`${target}:`);
  const check = isThere ? targetIsThere(vendor, isMeant) : targetIsNowhere(vendor, isExcluded);
  return { kind: "target", value: target, check };
}

function unknownWord(word: string, name: string, rest: string): Mistake {
  const near = nearTarget(word) ?? suggest(name, [...Object.keys(expectationWords), perLibrary]);
  const isWhole = near !== null && isExpectationWord(near) && rest !== "";
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
