/** Builds a plan cell by cell with one engine. After every cell the lock on disk is whole and says what is there. */

import type { LockedImage } from "../../lock/lock.ts";
import { updateLock } from "../../lock/update-lock.ts";
import {
  type Builder,
  type BuildSummary,
  type CellResult,
  lockedImageOf,
  withImages,
} from "../engines/built-cell.ts";
import { type FleetSources, isReady, jobOf, type ReadyCell, unreadyProblem } from "../engines/jobs.ts";
import type { Plan, PlannedCell } from "../plan/planned-cell.ts";
import { buildJobs, type BuildJobsOptions } from "./build-jobs.ts";

/** Without `publishing` the images stay in the engine. */
export interface BuildPlanOptions extends Omit<BuildJobsOptions, "onBuilt"> {
  readonly builder: Builder;
  readonly lockFile: string;
  /** Commit of the sources, for a label; empty where there is none. */
  readonly revision: string;
  readonly now: () => Date;
}

/** Throws `WRITE_FAILED` or `LOCK_BUSY` for the lock, and bugs; a cell that fails is a result. */
export async function buildPlan(
  plan: Plan,
  fleet: FleetSources,
  options: BuildPlanOptions,
): Promise<BuildSummary> {
  const { matrix } = plan;
  const { builder, lockFile, revision, publishing, now } = options;
  const wanted = plan.cells.filter(({ action }) => action === "build");
  const ready = new Map(wanted.filter(isReady).map((planned) => [planned.cell.id, planned]));
  const jobs = [...ready.values()].map((planned) =>
    jobOf(planned, { ...fleet, matrix, revision, push: publishing !== null }),
  );
  const built = await buildJobs(jobs, {
    ...options,
    onBuilt: async (finished) => {
      const created = now().toISOString();
      const images = finished.map(({ job: { cell }, built }): [string, LockedImage] => [
        cell,
        lockedImageOf(ready.get(cell) as ReadyCell, built, builder, created),
      ]);
      await updateLock(lockFile, (lock) => withImages(lock, matrix, Object.fromEntries(images)), {
        repository: matrix.repository,
      });
    },
  });
  const byCell = new Map(built.map((result) => [result.cell, result]));
  return {
    results: wanted.map((planned) => byCell.get(planned.cell.id) ?? unready(planned)),
    kept: plan.cells.filter(({ action }) => action === "keep").length,
    interrupted: built.some(({ status }) => status === "interrupted"),
  };
}

function unready(planned: PlannedCell): CellResult {
  const problems = [unreadyProblem([planned])] as const;
  return { status: "failed", cell: planned.cell.id, problems, log: null, durationMs: 0 };
}
