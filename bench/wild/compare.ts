/** Judges the packages of the corpus as `imgmatch check` judges an image or a folder of these files, and compares with the oracle. */

import type { HostFacts } from "../../src/facts/facts.ts";
import { needsBesideGpu } from "../../src/inspect/adopt/adopted-image.ts";
import { openFromFolder } from "../../src/inspect/image/from-folder.ts";
import { noCache } from "../../src/inspect/image/layer-cache.ts";
import type { OpenedImage } from "../../src/inspect/image/open-layers.ts";
import { checkImage } from "../../src/resolve/check-image.ts";
import { judgeEnvironment } from "./environments.ts";
import { type CpuModel, models, type Outcome, readRecord, type WildPackage } from "./corpus.ts";
import { fetchPackage } from "./fetch.ts";

/** What `check` says of a model, beside what the oracle says. */
export interface Verdict {
  readonly model: string;
  readonly outcome: Outcome;
  readonly fits: boolean | null;
  /** `likely not`: compiled for features that the model lacks. */
  readonly isLikelyNot: boolean;
  /** Features, where it says no or nothing. */
  readonly why: readonly string[];
}

export type Error = "false yes" | "false no" | "likely not, and ran" | "undecided";

export function errorOf({ outcome, fits, isLikelyNot }: Verdict): Error | null {
  if (outcome === "none" || fits === (outcome === "ran")) return null;
  if (isLikelyNot) return outcome === "ran" ? "likely not, and ran" : null;
  return fits === null ? "undecided" : fits ? "false yes" : "false no";
}

export async function openWild(root: string): Promise<OpenedImage> {
  return openFromFolder(root, { platform: "linux/amd64", cache: noCache });
}

export async function verdictsOf(
  each: WildPackage,
  root: string,
  outcomes: Readonly<Record<string, Outcome>>,
  h200?: HostFacts,
): Promise<readonly Verdict[]> {
  return each.environment
    ? ofEnvironment(each, root, outcomes, h200)
    : imageVerdicts(await openWild(root), each.platform, outcomes);
}

async function ofEnvironment(
  { platform, onH200 }: WildPackage,
  root: string,
  outcomes: Readonly<Record<string, Outcome>>,
  h200: HostFacts | undefined,
): Promise<readonly Verdict[]> {
  const own = models.filter((model) => model.platform === platform);
  const hosts = own.map((model) => [model.name, hostOf(model)] as const);
  const all = h200 === undefined || onH200 === null ? hosts : [...hosts, ["h200", h200] as const];
  const known: Readonly<Record<string, Outcome>> = { ...outcomes, h200: onH200 ?? "none" };
  const answers = await judgeEnvironment(root, all);
  return answers.map(({ fits, reasons, unknown }, index) => {
    const [model = ""] = all[index] ?? [];
    const why = [...reasons, ...unknown].map(({ message }) => message);
    return { model, outcome: known[model] ?? "none", fits, isLikelyNot: isLikely(fits, unknown), why };
  });
}

export function imageVerdicts(
  opened: OpenedImage,
  platform: string,
  outcomes: Readonly<Record<string, Outcome>>,
): readonly Verdict[] {
  const { requires, compiledFor } = needsBesideGpu({ ...opened, platform });
  const entry = { requires, adopted: { cpu: "estimated" } } as const;
  return models
    .filter((model) => model.platform === platform)
    .map((model) => {
      const image = { platform, requires: null, env: [], entry, compiledFor };
      const { fits, reasons, unknown } = checkImage(image, hostOf(model));
      const why = [...reasons, ...unknown].map(({ message }) => message);
      const isLikelyNot = isLikely(fits, unknown);
      return { model: model.name, outcome: outcomes[model.name] ?? "none", fits, isLikelyNot, why };
    });
}

function isLikely(fits: boolean | null, [first]: readonly { readonly code: string }[]): boolean {
  return fits === null && first?.code === "CPU_COMPILED_FOR";
}

function hostOf({ platform, features }: CpuModel): HostFacts {
  return {
    schemaVersion: 1,
    ...{ platform, kernel: "6.1.0", nvidia: null, amd: null },
    cpu: { vendor: null, model: null, features, level: null },
    runtime: { nvidia: null },
    problems: [],
    sources: {},
  };
}

const signs = {
  ...{ "false yes": "FALSE YES", "false no": "FALSE NO", undecided: "undecided" },
  "likely not, and ran": "LIKELY NOT, AND RAN",
} as const satisfies Record<Error, string>;

/** @param h200 facts of an H200, for packages that somebody has used on one */
export async function compare(packages: readonly WildPackage[], h200?: HostFacts): Promise<void> {
  const record = readRecord();
  const totals = {
    ...{ right: 0, "likely not, and died": 0, "likely not, and ran": 0 },
    ...{ "false yes": 0, "false no": 0, undecided: 0, "no oracle": 0 },
  };
  for (const each of packages) {
    const recorded = record[each.name];
    if (recorded === undefined) {
      process.stdout.write(`${each.name.padEnd(32)} not recorded\n`);
      continue;
    }
    const { root, files } = fetchPackage(each);
    const isSame = JSON.stringify(files) === JSON.stringify(recorded.files);
    const verdicts = await verdictsOf(each, root, recorded.models, h200);
    const shown = verdicts.map((verdict) => {
      const error = errorOf(verdict);
      const right = verdict.isLikelyNot ? "likely not, and died" : "right";
      totals[verdict.outcome === "none" ? "no oracle" : (error ?? right)]++;
      return `${verdict.model}: ${error === null ? verdict.outcome : signs[error]}`;
    });
    process.stdout.write(
      `${each.name.padEnd(32)} ${shown.join("  ")}${isSame ? "" : "  (other files than recorded)"}\n`,
    );
    for (const why of new Set(verdicts.filter((each) => errorOf(each) !== null).flatMap((each) => each.why)))
      process.stdout.write(`    ${why.slice(0, 200)}\n`);
  }
  const parts = Object.entries(totals).map(([name, count]) => `${name} ${count}`);
  process.stdout.write(`${parts.join(", ")}\n`);
}
