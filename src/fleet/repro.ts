/** One cell of a fleet, built twice without cache and compared. */

import { ImgmatchError, usageError } from "../errors.ts";
import { readRevision } from "../io/git.ts";
import { type Watching, type World, worldOf } from "../io/world.ts";
import { buildTwice, type ReproReport } from "./build/build-twice.ts";
import { type EngineChoice, engineFor } from "./build/engines/engine-choice.ts";
import { isReady, jobOf, type ReadyCell, unreadyProblem } from "./build/jobs.ts";
import type { FleetChoice } from "./fleet-choice.ts";
import { planForExport } from "./plan-choice.ts";
import type { PlannedCell } from "./plan/planned-cell.ts";

/** `start` when the engine has answered, then a line of what its steps print each. */
export type ReproEvent =
  | { readonly type: "start"; readonly cell: string }
  | { readonly type: "log"; readonly cell: string; readonly line: string };

export interface ReproOptions
  extends Omit<FleetChoice, "only" | "cache">,
    EngineChoice,
    Watching<ReproEvent> {
  /** Cell id. */
  readonly cell: string;
}

export interface ReproAnswer extends ReproReport {
  readonly schemaVersion: 1;
  readonly cell: string;
  /** The engine that built it. */
  readonly builder: string;
}

/**
 * Builds one cell twice without cache, and names the first layer that differs. Changes neither the lock nor any tag.
 *
 * Throws `USAGE` unless `cell` names one cell that is built, `BASE_UNRESOLVED`, `ENGINE_…`, `BUILD_FAILED`, and as `plan`.
 *
 * @example
 * const { reproducible } = await repro({ cell: "12.8.1_8.0_broadwell" });
 */
export async function repro(options: ReproOptions, given?: Partial<World<ReproEvent>>): Promise<ReproAnswer> {
  const { cell: id } = options;
  const world = worldOf(options, given);
  const { fleet, plan } = await planForExport({ ...options, only: [id] }, world);
  const [planned, ...more] = plan.cells;
  if (planned === undefined || more.length > 0) {
    throw usageError(
      `${id} means ${plan.cells.length} cells, and repro builds one`,
      "imgmatch plan lists the cells",
    );
  }
  const { matrix } = plan;
  const cell = planned.cell.id;
  const revision = await readRevision(fleet.root, world.env);
  const { request } = jobOf(buildable(planned), { ...fleet, matrix, revision, push: false });
  const engine = await engineFor(options, world);
  const builder = await engine.describe();
  world.onEvent({ type: "start", cell });
  const report = await buildTwice(engine, request, {
    signal: world.signal ?? new AbortController().signal,
    onLog: (line) => world.onEvent({ type: "log", cell, line }),
  });
  return { schemaVersion: 1, cell, builder, ...report };
}

function buildable(planned: PlannedCell): ReadyCell {
  if (planned.inputs === null) {
    throw usageError(`${planned.cell.id} is not built: ${planned.reason}`, "imgmatch plan lists the cells");
  }
  if (!isReady(planned)) throw new ImgmatchError(unreadyProblem([planned]));
  return planned;
}
