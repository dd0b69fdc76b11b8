/** `imgmatch repro`: one cell of a plan, built twice without cache and compared. */

import type { BuildWatch, Engine } from "./build/engine.ts";
import type { FleetSources } from "./build/fleet-builder.ts";
import { isReady, jobOf, type ReadyCell, unreadyProblem } from "./build/jobs.ts";
import { buildTwice, type ReproReport } from "./build/build-twice.ts";
import { ImgmatchError, usageError } from "../errors.ts";
import type { Plan, PlannedCell } from "./plan/planned-cell.ts";

export interface ReproOptions {
  /** Asked for when the cell can be built. */
  readonly engine: () => Promise<Pick<Engine, "build" | "layers" | "scratch">>;
  /** Commit of the sources, for a label; empty where there is none. */
  readonly revision: string;
  readonly watch: BuildWatch;
}

/**
 * Changes neither the lock nor any tag.
 * Throws `USAGE` for a cell that is not built, `BASE_UNRESOLVED` for one whose bases are not known, and what the engine throws.
 */
export async function reproduceCell(
  { matrix }: Pick<Plan, "matrix">,
  fleet: FleetSources,
  planned: PlannedCell,
  { engine, revision, watch }: ReproOptions,
): Promise<ReproReport> {
  const { request } = jobOf(buildable(planned), { ...fleet, matrix, revision, push: false });
  return buildTwice(await engine(), request, watch);
}

function buildable(planned: PlannedCell): ReadyCell {
  if (planned.inputs === null) {
    throw usageError(`${planned.cell.id} is not built: ${planned.reason}`, "imgmatch plan lists the cells");
  }
  if (!isReady(planned)) throw new ImgmatchError(unreadyProblem(planned));
  return planned;
}
