/** Builds the cells of a plan that the lock does not have: a job for each, a result for each, and the lock's record of what was built. */

import type { BuildSummary, CellResult } from "../engines/built-cell.ts";
import { type FleetSources, isReady, jobOf, unreadyProblem, type UnresolvedBases } from "../engines/jobs.ts";
import type { Plan, PlannedCell } from "../plan/planned-cell.ts";
import { buildJobs, type BuildJobsOptions } from "./build-cells.ts";
import { recordImages, type RecordOptions } from "./record-images.ts";

/** Without `publishing` the images stay in the engine. */
export interface BuildPlanOptions extends Omit<BuildJobsOptions, "onBuilt">, RecordOptions {
  /** Commit of the sources, for a label; empty where there is none. */
  readonly revision: string;
  readonly unresolved?: UnresolvedBases | undefined;
}

/** Throws `WRITE_FAILED` or `LOCK_BUSY` for the lock, and bugs; a cell that fails is a result. */
export async function buildPlan(
  plan: Plan,
  fleet: FleetSources,
  options: BuildPlanOptions,
): Promise<BuildSummary> {
  const { matrix } = plan;
  const { revision, publishing } = options;
  const wanted = plan.cells.filter(({ action }) => action === "build");
  // A cell is ready if the digests of all its bases are known.
  const ready = new Map(wanted.filter(isReady).map((planned) => [planned.cell.id, planned]));
  const jobs = [...ready.values()].map((planned) =>
    jobOf(planned, { ...fleet, matrix, revision, push: publishing !== null }),
  );
  const built = await buildJobs(jobs, {
    ...options,
    onBuilt: (finished) => recordImages(finished, ready, plan, options),
  });
  const byCell = new Map(built.map((result) => [result.cell, result]));
  return {
    results: wanted.map((planned) => byCell.get(planned.cell.id) ?? unready(planned, options.unresolved)),
    kept: plan.cells.filter(({ action }) => action === "keep").length,
  };
}

function unready(planned: PlannedCell, reasons: UnresolvedBases | undefined): CellResult {
  const problems = [unreadyProblem([planned], reasons)] as const;
  return { status: "failed", cell: planned.cell.id, problems, log: null, durationMs: 0 };
}
