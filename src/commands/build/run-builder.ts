/** Builds what a plan says with a reporter for this terminal, and what became of many cells as one exit code. */

import { dirname, join } from "node:path";
import type { BuildSummary } from "../../build/fleet-builder.ts";
import { sourceDateEpoch } from "../../build/source-date-epoch.ts";
import { type ExitCode, exitCodes, problemCodes } from "../../errors.ts";
import type { Fleet } from "../../fleet/open-fleet.ts";
import { readRevision } from "../../io/revision.ts";
import { publishedOnLocal } from "../../plan/local-bases.ts";
import type { Plan } from "../../plan/planned-cell.ts";
import { buildReporters, type ReporterName } from "../../report/build.ts";
import { styleFor } from "../../report/style.ts";
import type { CommandContext } from "../context.ts";
import { type EngineFlags, fleetBuilderFor } from "../flags/engine.ts";
import { type FleetFlags, lockFileOf } from "../flags/fleet.ts";
import { registryFor } from "../flags/registry.ts";
import { tellProblem } from "../tell-problem.ts";

export interface BuildFlags extends FleetFlags, EngineFlags {
  readonly push?: boolean;
  readonly concurrency: number;
  readonly dryRun?: boolean;
  /** A base that no registry has may be the engine's. */
  readonly localBases?: boolean;
  /** Write the index of the version too. */
  readonly index?: boolean;
  /** Let that index say something else than it does now. */
  readonly replaceIndex?: boolean;
}

export async function runBuild(
  plan: Plan,
  fleet: Fleet,
  flags: BuildFlags,
  context: CommandContext,
): Promise<BuildSummary> {
  context.takeSignals("finish");
  const [builder, { runBuilder }, { cacheFolder, folderCache }] = await Promise.all([
    fleetBuilderFor(flags, context),
    import("../../fleet/build-plan.ts"),
    import("../../inspect/image/layer-cache.ts"),
  ]);
  if (flags.push) for (const problem of publishedOnLocal(plan)) tellProblem(problem, context);
  const reporter = reporterFor(reporterName(flags, context), plan, context);
  const epoch = sourceDateEpoch(context.env);
  const summary = await runBuilder(builder, plan, fleet, {
    registry: await registryFor(flags, { env: context.env }),
    layerCache: folderCache(cacheFolder(context.env)),
    push: flags.push ?? false,
    lockFile: lockFileOf(flags),
    logFolder: join(dirname(flags.matrix), ".imgmatch", "logs"),
    concurrency: flags.concurrency,
    revision: await readRevision(fleet.root, context.env),
    now: () => (epoch === null ? new Date() : new Date(epoch * 1000)),
    onEvent: reporter.onEvent,
    drain: context.signal,
  });
  reporter.end(summary);
  return summary;
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

function reporterName({ json }: BuildFlags, { terminal, env }: CommandContext): ReporterName {
  if (json) return "json";
  if (env.GITHUB_ACTIONS === "true") return "github";
  return terminal.animated ? "tty" : "plain";
}

export function reporterFor(name: ReporterName, { cells }: Plan, { out, err, terminal }: CommandContext) {
  return buildReporters[name]({
    write: name === "json" ? out : err,
    style: styleFor(terminal.color.err),
    total: cells.filter(({ action }) => action === "build").length,
    columns: terminal.columns,
    clock: () => performance.now(),
  });
}
