/** Judges the packages of the corpus as `imgmatch check` judges an image of these files, and compares with the oracle. */

import type { HostFacts } from "../../src/facts/facts.ts";
import { needsBesideGpu } from "../../src/inspect/adopt/adopted-image.ts";
import { openFromFolder } from "../../src/inspect/image/from-folder.ts";
import { noCache } from "../../src/inspect/image/layer-cache.ts";
import type { OpenedImage } from "../../src/inspect/image/open-layers.ts";
import { checkImage } from "../../src/resolve/check-image.ts";
import { type CpuModel, models, type Outcome, readRecord, type WildPackage } from "./corpus.ts";
import { fetchPackage } from "./fetch.ts";

/** What `check` says of a model, beside what the oracle says. */
export interface Verdict {
  readonly model: string;
  readonly outcome: Outcome;
  readonly fits: boolean | null;
  /** Features, where it says no or nothing. */
  readonly why: readonly string[];
}

export type Error = "false yes" | "false no" | "undecided";

export function errorOf({ outcome, fits }: Verdict): Error | null {
  if (outcome === "none" || fits === (outcome === "ran")) return null;
  return fits === null ? "undecided" : fits ? "false yes" : "false no";
}

export async function openWild(root: string): Promise<OpenedImage> {
  return openFromFolder(root, { platform: "linux/amd64", cache: noCache });
}

export function verdictsOf(
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
      return { model: model.name, outcome: outcomes[model.name] ?? "none", fits, why };
    });
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

const signs = { "false yes": "FALSE YES", "false no": "FALSE NO", undecided: "undecided" } as const;

export async function compare(packages: readonly WildPackage[]): Promise<void> {
  const record = readRecord();
  const totals = { right: 0, "false yes": 0, "false no": 0, undecided: 0, "no oracle": 0 };
  for (const each of packages) {
    const recorded = record[each.name];
    if (recorded === undefined) {
      process.stdout.write(`${each.name.padEnd(32)} not recorded\n`);
      continue;
    }
    const { root, files } = fetchPackage(each);
    const isSame = JSON.stringify(files) === JSON.stringify(recorded.files);
    const verdicts = verdictsOf(await openWild(root), each.platform, recorded.models);
    const shown = verdicts.map((verdict) => {
      const error = errorOf(verdict);
      totals[verdict.outcome === "none" ? "no oracle" : (error ?? "right")]++;
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
