/** Builds a cell twice without cache, and compares the layers. */

import { ImgmatchError, usageError } from "../errors.ts";
import { readRevision } from "../io/git.ts";
import { type Watching, type World, worldOf } from "../io/world.ts";
import type { BuildRequest, BuildWatch, Engine } from "./build/engine.ts";
import { type EngineChoice, engineFor } from "./build/engines/engine-choice.ts";
import { isReady, jobOf, type ReadyCell, unreadyProblem } from "./build/jobs.ts";
import type { FleetChoice } from "./open/fleet-choice.ts";
import type { Layer } from "../oci/image-layers.ts";
import { planForExport } from "./open/plan-chosen-fleet.ts";
import type { PlannedCell } from "./plan/planned-cell.ts";

/** `start` when the engine has answered, then a `log` for each line that the steps print. */
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

export interface ReproReport {
  readonly reproducible: boolean;
  /** How many the first build has. */
  readonly layers: number;
  /** null when all layers are equal. */
  readonly difference: LayerDifference | null;
  /** The images' ids; they differ also where only times in the configuration do. */
  readonly ids: readonly [string, string];
}

export interface LayerDifference {
  /** From 1, the base's layers included. */
  readonly number: number;
  readonly createdBy: string | null;
  /** null where one build has fewer layers. */
  readonly diffIds: readonly [string | null, string | null];
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

/**
 * Throws what the engine throws. One build after the other: at the same time an engine would make one of the two.
 * The engine has the same images afterwards as before.
 */
export async function buildTwice(
  engine: Pick<Engine, "build" | "layers" | "scratch">,
  request: BuildRequest,
  watch: BuildWatch,
): Promise<ReproReport> {
  const once = async () => {
    const image = await engine.build({ ...request, noCache: true, tags: [] }, watch);
    return { id: image.id, layers: await engine.layers(image, watch) };
  };
  const sweep = await engine.scratch(watch.onLog);
  try {
    const one = await once();
    const other = await once();
    const difference = firstDifference(one.layers, other.layers);
    return {
      reproducible: difference === null,
      layers: one.layers.length,
      difference,
      ids: [one.id, other.id],
    };
  } finally {
    await sweep();
  }
}

export function firstDifference(one: readonly Layer[], other: readonly Layer[]): LayerDifference | null {
  for (let index = 0; index < Math.max(one.length, other.length); index++) {
    const [a, b] = [one[index], other[index]];
    if (a?.diffId === b?.diffId) continue;
    return {
      number: index + 1,
      createdBy: a?.createdBy ?? b?.createdBy ?? null,
      diffIds: [a?.diffId ?? null, b?.diffId ?? null],
    };
  }
  return null;
}
