/** Puts the answers for the packages of a subject together. */

import { InternalError } from "../errors.ts";
import { compareVersionTexts } from "../hardware/driver-version.ts";
import type { ImageCheck } from "../resolve/check-image.ts";
import { efforts, type ReasonCode, tiers } from "../resolve/verdict.ts";
import type { CheckAnswer, CheckReason } from "./check-answer.ts";
import type { Asked, JudgedPart } from "./judge-part.ts";

type Summed = Omit<
  CheckAnswer,
  "schemaVersion" | "subject" | "source" | "digest" | "problems" | "signed" | "cell"
>;

export function single([part]: readonly JudgedPart[]): {
  readonly answer: Summed;
  readonly verdict: ImageCheck;
} {
  if (part === undefined) throw new InternalError("a subject without a part");
  const { answer, verdict, platform, judgedBy, conditions, notes } = part;
  const measured = verdict.measured === null ? {} : { measured: verdict.measured };
  return { answer: { platform, judgedBy, ...answer, conditions, notes, packages: [], ...measured }, verdict };
}

/** The worst that is certain is the answer: the reason that takes most to cure, and the packages that have it. */
export function together(judged: readonly JudgedPart[], { choice }: Asked) {
  const refused = judged.filter(({ answer }) => answer.fits === false);
  const undecided = judged.filter(({ answer }) => answer.fits === null);
  const effort = ({ answer }: JudgedPart) => efforts[answer.reasons[0]?.code as ReasonCode] ?? 1;
  const worst = [...refused].sort((a, b) => effort(b) - effort(a));
  const tierOf = ({ answer: { tier } }: JudgedPart) => (tier === null ? -1 : tiers.indexOf(tier));
  const slowest = [...judged].sort(
    (a, b) => tierOf(b) - tierOf(a) || Number(b.answer.runs.length > 0) - Number(a.answer.runs.length > 0),
  );
  const slower = judged.find(({ answer }) => answer.fits === true && answer.why !== null);
  const [deciding] =
    [worst, undecided, slower === undefined ? [] : [slower], slowest].find((each) => each.length > 0) ?? [];
  const found = single(deciding === undefined ? [] : [deciding]);
  const of = (name: string, texts: readonly string[]) =>
    texts.map((text) => `${name === "" ? "" : `${name}: `}${text}`);
  const idle = judged.every(({ answer }) => answer.runs.length === 0 && answer.fits === true);
  const reasons = distinct(worst.flatMap(({ answer }) => answer.reasons));
  const asked = choice.requireGpu && idle ? [noneUsesGpu] : [];
  const withoutGpu = distinct(judged.flatMap(({ answer }) => answer.withoutGpu ?? []));
  const summed: Summed = {
    ...found.answer,
    ...(asked.length > 0 && { fits: false, why: noneUsesGpu.message, tier: null, by: [] }),
    judgedBy: "files",
    requires: null,
    reasons: [...reasons, ...asked],
    unknown: distinct((refused.length > 0 ? refused : undecided).flatMap(({ answer }) => answer.unknown)),
    runs: found.answer.fits === true ? distinct(judged.flatMap(({ answer }) => answer.runs)) : [],
    by: found.answer.fits === true ? distinct(judged.flatMap(({ answer }) => answer.by)) : [],
    conditions:
      found.answer.fits === true ? allConditions(judged.flatMap(({ conditions }) => conditions)) : [],
    notes: judged.flatMap(({ name, notes }) => of(name, notes)),
    packages: judged.map(({ name, version, answer }) => ({ name, version, ...answer })),
  };
  const { withoutGpu: _, ...rest } = summed;
  return {
    answer: withoutGpu.length > 0 && rest.fits === true ? { ...rest, withoutGpu } : rest,
    verdict: found.verdict,
  };
}

const noneUsesGpu: CheckReason = {
  code: "PIN_MISMATCH",
  message: "no package has code for a GPU, and --require-gpu asks for such code",
  fix: "leave --require-gpu out",
};

/** `glibc >= 2.28` stands for `glibc >= 2.17` too. */
function allConditions(all: readonly string[]): readonly string[] {
  const newest = new Map<string, string>();
  for (const condition of all) {
    const [name = "", version = ""] = condition.split(" >= ");
    if (compareVersionTexts(version, newest.get(name) ?? "0") >= 0) newest.set(name, version);
  }
  return [...newest].map(([name, version]) => (version === "" ? name : `${name} >= ${version}`));
}

function distinct<Value>(all: readonly Value[]): readonly Value[] {
  return [...new Map(all.map((each) => [JSON.stringify(each), each])).values()];
}
