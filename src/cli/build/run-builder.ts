/** Builds what a plan says with a reporter for this terminal, and what became of many cells as one exit code. */

import { dirname, join } from "node:path";
import type { BuildSummary } from "../../fleet/build/fleet-builder.ts";
import { sourceDateEpoch } from "../../fleet/build/source-date-epoch.ts";
import { type ExitCode, exitCodes, problemCodes, usageError } from "../../errors.ts";
import type { RunBuilderOptions } from "../../fleet/build-plan.ts";
import type { Fleet } from "../../fleet/open-fleet.ts";
import { unattestedImages } from "../../fleet/unattested.ts";
import { readRevision } from "../../io/git.ts";
import { publishedOnLocal } from "../../fleet/plan/local-bases.ts";
import type { Plan } from "../../fleet/plan/planned-cell.ts";
import {
  annotating,
  type BuildReporter,
  buildReporters,
  type ReporterName,
  type ReporterOptions,
} from "../report/build.ts";
import { styleFor } from "../report/style.ts";
import type { CommandContext } from "../command-context.ts";
import type { EngineChoice } from "../../fleet/build/engines/engine-choice.ts";
import { fleetBuilderFor } from "../../pulumi/builder-choice.ts";
import { type FleetChoice, lockFileOf } from "../../fleet/fleet-choice.ts";
import { registryFor } from "../../oci/registry/registry-access.ts";
import type { StatementSigner } from "../../trust/provenance/write-provenance.ts";
import { version } from "../../version.ts";
import { engineTraits } from "../../fleet/build/engines/engine-traits.ts";
import type { SigningChoice } from "../../fleet/signing.ts";
import type { Signing } from "../../fleet/signed-publisher.ts";
import { tellProblem } from "../print.ts";

export interface BuildFlags extends FleetChoice, EngineChoice, SigningChoice {
  readonly push?: boolean;
  readonly concurrency: number;
  readonly dryRun?: boolean;
  /** A base that no registry has may be the engine's. */
  readonly localBases?: boolean;
  readonly progress?: ProgressName;
  /** Write the index of the version too. */
  readonly index?: boolean;
  /** Let that index say something else than it does now. */
  readonly replaceIndex?: boolean;
}

/** As docker's: `plain` has the steps' output, and where nothing is said a terminal has what fits, and a log one line for each cell. */
export type ProgressName = "auto" | "plain" | "tty" | "quiet";

/** Both null where nobody signs. */
interface Signers {
  /** Of provenance. */
  readonly signer: StatementSigner | null;
  /** Of images. */
  readonly signing: Signing | null;
}

export async function runBuild(
  plan: Plan,
  fleet: Fleet,
  flags: BuildFlags,
  context: CommandContext,
  { signer, signing }: Signers,
): Promise<BuildSummary> {
  context.takeSignals("finish");
  const [builder, { runBuilder }, { cacheFolder, folderCache }] = await Promise.all([
    fleetBuilderFor(flags, context),
    import("../../fleet/build-plan.ts"),
    import("../../inspect/image/layer-cache.ts"),
  ]);
  if (flags.push) for (const problem of publishedOnLocal(plan)) tellProblem(problem, context);
  const reporter = reporterFor(flags, plan, context);
  const epoch = sourceDateEpoch(context.env);
  const summary = await runBuilder(builder, plan, fleet, {
    registry: await registryFor(flags, { env: context.env }),
    layerCache: folderCache(cacheFolder(context.env)),
    push: flags.push ?? false,
    lockFile: lockFileOf(flags),
    logFolder: join(dirname(flags.matrix), ".imgmatch", "logs"),
    concurrency: flags.concurrency,
    revision: await readRevision(fleet.root, context.env),
    // What Pulumi's plug-in pushes has its tag at once.
    signing: engineTraits[flags.engine].stacks ? null : signing,
    ...(plan.matrix.attest === null ? {} : { origin: await originOf(fleet, context), signer }),
    now: () => (epoch === null ? new Date() : new Date(epoch * 1000)),
    onEvent: reporter.onEvent,
    drain: context.signal,
  });
  reporter.end(summary);
  if (flags.push) for (const problem of unattestedImages(plan, summary)) tellProblem(problem, context);
  return summary;
}

async function originOf({ root }: Fleet, { env }: CommandContext): Promise<RunBuilderOptions["origin"]> {
  const { readOrigin } = await import("../../fleet/build-origin.ts");
  return { program: version, ...(await readOrigin(root, env)) };
}

/** Where all that failed did so in the same way, that way's code; a failed step among them is the plain failure. */
export function exitCodeOf({
  interrupted,
  results,
}: Pick<BuildSummary, "interrupted" | "results">): ExitCode {
  if (interrupted) return exitCodes.interrupted;
  const failed = results.flatMap((result) => (result.status === "failed" ? [result.problems[0].code] : []));
  const codes = [...new Set(failed.map((code) => problemCodes[code]))];
  if (codes.length === 0) return exitCodes.ok;
  return codes.length === 1 ? (codes[0] ?? exitCodes.failed) : exitCodes.failed;
}

type ProgressFlags = Pick<BuildFlags, "json" | "progress">;

/** Throws `USAGE` for two forms at once. */
export function checkProgress({ json, progress = "auto" }: ProgressFlags): void {
  if (json && progress !== "auto")
    throw usageError(
      "--json tells everything as JSON, and --progress is for people",
      "leave one of them out",
    );
}

function reporterName(
  { json, progress = "auto" }: ProgressFlags,
  { terminal, env }: CommandContext,
): ReporterName {
  if (json) return "json";
  if (progress !== "auto") return progress === "plain" ? "steps" : progress;
  return terminal.animated && env.GITHUB_ACTIONS !== "true" ? "tty" : "plain";
}

export function reporterFor(flags: ProgressFlags, { cells }: Plan, context: CommandContext): BuildReporter {
  const { out, err, terminal, env } = context;
  const name = reporterName(flags, context);
  const options: ReporterOptions = {
    write: name === "json" ? out : err,
    style: styleFor(terminal.color.err),
    total: cells.filter(({ action }) => action === "build").length,
    // Asked each time: a window is made smaller while it builds.
    get columns() {
      return terminal.columns;
    },
    clock: () => performance.now(),
  };
  const reporter = buildReporters[name](options);
  return env.GITHUB_ACTIONS === "true" && name !== "json" ? annotating(reporter, options) : reporter;
}
