/** Plans an open fleet: finds the bases of each cell, and compares the cell with the lock. */

import { usageError } from "../../errors.ts";
import { compareText, groupBy } from "../../io/collections.ts";
import { type LockPins, rebuildWord } from "../../lock/lock.ts";
import type { Cell } from "../cells/cell.ts";
import { oncePer } from "../cells/once-per.ts";
import { cellContexts, decidedUse } from "../context/cell-context.ts";
import type { ContextListing } from "../context/context.ts";
import { type CellSources, planCells, type PlanCellsOptions } from "../plan/plan-cells.ts";
import type { Plan, PlannedCell } from "../plan/planned-cell.ts";
import type { CellWithDockerfile } from "./cell-dockerfile.ts";
import { baseFinder, type BaseSources } from "./find-bases.ts";
import { checkedCells, type Fleet } from "./open-fleet.ts";
import { builtOnLocal, parentImages, parentLock } from "./parent-images.ts";
import { replacementsFor, replacementsOf } from "./replace-bases.ts";

export interface FleetPlanOptions extends PlanCellsOptions, BaseSources {
  /** The source of base digests and of rebuild words. Default: the lock. */
  readonly pins?: LockPins;
  /** Base reference → the one to build with instead. */
  readonly replaceBases?: ReadonlyMap<string, string>;
  /** The word of `build --no-cache`: another word than the lock's builds a cell anew. Default: the lock's word of each cell. */
  readonly rebuild?: string | undefined;
}

/** Plans a fleet. The cells of a base without a known digest have no input digest. Throws `SELECTION_…`, `TEMPLATE_IGNORES_AXIS`. */
export async function planFleet(fleet: Fleet, options: FleetPlanOptions): Promise<Plan> {
  const { lock, pins = lock, replaceBases = new Map<string, string>() } = options;
  const replace = replacementsOf(fleet, replaceBases);
  const parents = parentImages(fleet, await planParents(fleet, options));
  const basesOf = baseFinder({ pins, replace, parents }, options);
  const contextOf = oncePer((listing: ContextListing) => cellContexts(listing));
  const rebuildOf = rebuildsOf(pins, options.rebuild);
  const cells = checkedCells(fleet, options.only ?? []);
  const withFiles = cells.map((cell) => ({ cell, dockerfile: fleet.dockerfileOf(cell) }));
  // Cells with the same Dockerfile instructions share bases and context. A cell in the lock may have pins of its own.
  const isLocked = ({ id }: Cell) => (pins?.images[id] ?? lock?.images[id]) !== undefined;
  const alike = groupBy(withFiles, ({ cell, dockerfile }) => (isLocked(cell) ? cell : dockerfile.bases));
  const sources = new Map<string, CellSources>();
  const addSources = async (group: readonly CellWithDockerfile[], first: CellWithDockerfile) => {
    const bases = await basesOf(first);
    const context = await contextOf(fleet.folderOf(first.cell).listing)(
      decidedUse(first.dockerfile.use, bases),
    );
    for (const { cell, dockerfile } of group) {
      const builtOn = builtOnLocal(bases, parents, lock?.images[cell.id]);
      const rebuild = rebuildOf(cell);
      sources.set(cell.id, { dockerfile, bases, context, rebuild, ...(builtOn && { builtOn }) });
    }
  };
  await Promise.all([...alike.values()].map(async (group) => group[0] && addSources(group, group[0])));
  return planCells(fleet.matrix, fleet.cells, sources, options);
}

/** Plans the fleets whose images are bases of this one, by cell. A base without a pin in a parent's lock means that the parent is not built. */
async function planParents(
  { parents }: Fleet,
  { published, held, replaceBases = new Map<string, string>() }: FleetPlanOptions,
): Promise<ReadonlyMap<Fleet, ReadonlyMap<string, PlannedCell>>> {
  const plans = new Map<Fleet, ReadonlyMap<string, PlannedCell>>();
  for (const parent of new Set([...parents.values()].map(({ fleet }) => fleet))) {
    const replaced = replacementsFor(parent, replaceBases);
    const asked = { lock: await parentLock(parent), published, held, replaceBases: replaced };
    const { cells } = await planFleet(parent, asked);
    plans.set(parent, new Map(cells.map((planned) => [planned.cell.id, planned])));
  }
  return plans;
}

/**
 * The rebuild word of each cell. The word of `--no-cache` comes first. Else a cell keeps the word of its lock entry, so that the next build
 * does not go back. A cell without an entry takes the greatest word of the others, so that its steps are as new as theirs. Null if there is
 * none. Throws `USAGE` for an invalid word.
 */
function rebuildsOf(lock: LockPins | null, word: string | undefined): (cell: Cell) => string | null {
  if (word !== undefined && !rebuildWord.test(word)) {
    throw usageError(
      `${JSON.stringify(word)} is not a valid word for a rebuild`,
      "write --no-cache=2026-W47: at most 64 letters, digits and . _ : -",
    );
  }
  const images = lock?.images ?? {};
  const words = Object.values(images).flatMap(({ inputs }) => inputs?.rebuild ?? []);
  const last = words.sort(compareText).at(-1) ?? null;
  return ({ id }) => {
    if (word !== undefined) return word;
    return Object.hasOwn(images, id) ? (images[id]?.inputs?.rebuild ?? null) : last;
  };
}
