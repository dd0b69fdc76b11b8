/** Builds a plan cell by cell with one engine. After every cell the lock on disk is whole and says what is there. */

import type { Lock, LockedImage } from "../../lock/lock.ts";
import { updateLock } from "../../lock/update-lock.ts";
import type { Plan, PlannedCell } from "../plan/planned-cell.ts";
import type { Engine } from "./engine.ts";
import type { BuildSummary, FleetBuilder, FleetBuildOptions, FleetSources } from "./fleet-builder.ts";
import { isReady, jobOf, lockedImageOf, lockOf, type ReadyCell, unreadyProblem } from "./jobs.ts";
import { buildFleet, type CellResult } from "./schedule.ts";

interface Options extends FleetBuildOptions {
  readonly engine: Pick<
    Engine,
    "isHere" | "keeper" | "attests" | "describe" | "build" | "push" | "save" | "layers"
  >;
}

export function cellBuilder(engine: Options["engine"]): FleetBuilder {
  return {
    attests: engine.attests ? "engine" : "imgmatch",
    describe: () => engine.describe(),
    build: (plan, fleet, options) => buildCells(plan, fleet, { ...options, engine }),
    save: (image, watch) => engine.save(image, watch),
    layers: (image, watch) => engine.layers(image, watch),
    push: engine.isHere ? (image, to, watch) => engine.push(image, to, watch) : null,
    preview: async () => [],
  };
}

async function buildCells(plan: Plan, fleet: FleetSources, options: Options): Promise<BuildSummary> {
  const wanted = plan.cells.filter(({ action }) => action === "build");
  const ready = new Map(wanted.filter(isReady).map((planned) => [planned.cell.id, planned]));
  const { engine } = options;
  const builder = { described: ready.size > 0 ? await engine.describe() : "", keeper: engine.keeper };
  const jobs = [...ready.values()].map((planned) =>
    jobOf(planned, {
      ...fleet,
      matrix: plan.matrix,
      revision: options.revision,
      push: options.publisher !== null,
    }),
  );
  const { cells, interrupted } = await buildFleet(jobs, {
    ...options,
    onBuilt: async (finished) => {
      const created = options.now().toISOString();
      const images = finished.map(({ job: { cell }, built }): [string, LockedImage] => [
        cell,
        lockedImageOf(ready.get(cell) as ReadyCell, built, builder, created),
      ]);
      await updateLock(options.lockFile, (lock) => withImages(lock, plan, Object.fromEntries(images)), {
        repository: plan.matrix.repository,
      });
    },
  });
  const byCell = new Map(cells.map((result) => [result.cell, result]));
  const results = wanted.map((planned): CellResult => byCell.get(planned.cell.id) ?? unready(planned));
  return { results, kept: plan.cells.filter(({ action }) => action === "keep").length, interrupted };
}

export function unready(planned: PlannedCell): CellResult {
  const problems = [unreadyProblem([planned])] as const;
  return { status: "failed", cell: planned.cell.id, problems, log: null, durationMs: 0 };
}

/**
 * The lock with these images more. Images of cells that the matrix no longer builds stay: machines that run them must not
 * lose them because another cell was built; `lock --prune` drops them.
 */
export function withImages(lock: Lock | null, { matrix }: Plan, images: Lock["images"]): Lock {
  // Digests are of one repository: what was pushed elsewhere says nothing about this one.
  const known = lock !== null && lock.repository === matrix.repository ? lock : null;
  const { channels, variants, version } = known ?? {};
  return {
    ...lockOf(matrix, { ...known?.images, ...images }),
    ...(channels && { channels }),
    ...(variants && version === matrix.version && { variants }),
  };
}
