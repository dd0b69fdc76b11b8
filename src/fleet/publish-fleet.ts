/** `imgmatch publish`: what was built and not pushed is pushed, then the version's index says what there is. Builds nothing new. */

import type { BuildSummary } from "./build/fleet-builder.ts";
import { throwProblems } from "../errors.ts";
import { refuseAdoptedLock } from "../lock/adopted-lock.ts";
import { readLock } from "../lock/lock-file.ts";
import type { Plan, PlannedCell } from "./plan/planned-cell.ts";
import { planIndexConflicts } from "./publish/index-conflicts.ts";
import { type PlanIndex, type PlanIndexOptions, publishPlanIndex } from "./publish/publish-plan-index.ts";
import type { RegistryClient } from "../oci/registry/client.ts";
import type { Fleet } from "./open-fleet.ts";
import { type FleetPlanOptions, planOpenFleet } from "./plan-open-fleet.ts";

export interface PublishFleetOptions extends PublishedPlanOptions {
  readonly registry: RegistryClient;
  /** Lets the index say something else than it does now. */
  readonly replace?: boolean;
  /** Builds and pushes the cells of this plan: the engine still has their steps, and what it has lost is built again. */
  readonly push: (plan: Plan) => Promise<BuildSummary>;
  /** Called right before the index is written: what interrupts from here on must be heard by `signal`. */
  readonly onIndex?: () => void;
  readonly vouching?: PlanIndexOptions["vouching"];
  readonly signal?: AbortSignal;
}

export interface FleetPublication {
  /** null where nothing waited for its push. */
  readonly pushed: BuildSummary | null;
  /** null where it was interrupted, and where the push failed and no image is left to name. */
  readonly index: PlanIndex | null;
}

/** Throws `INDEX_CONFLICT` before anything is pushed for an index that would be refused, and as `publishPlanIndex`. */
export async function publishFleet(fleet: Fleet, options: PublishFleetOptions): Promise<FleetPublication> {
  const { registry, replace = false, push, onIndex = () => {}, signal, vouching } = options;
  const before = await planPublished(fleet, options);
  if (!replace) throwProblems(await planIndexConflicts(before, registry));
  const waiting = before.cells.filter(isUnpushed);
  const pushed = waiting.length === 0 ? null : await push({ ...before, cells: waiting });
  if (pushed?.interrupted) return { pushed, index: null };
  const plan = pushed === null ? before : await planPublished(fleet, options);
  const hasFailed = pushed?.results.some(({ status }) => status === "failed") ?? false;
  // Where nothing could be pushed, why is what to tell, and not that there is nothing.
  if (hasFailed && !plan.cells.some(({ action }) => action === "keep")) return { pushed, index: null };
  onIndex();
  const index = await publishPlanIndex(plan, { registry, replace, vouching, ...(signal && { signal }) });
  return { pushed, index };
}

export interface PublishedPlanOptions extends Pick<FleetPlanOptions, "only" | "replaceBases"> {
  readonly lockFile: string;
}

/** What the lock on disk says now. Asks no registry: only what the lock pins can have been built. */
export async function planPublished(
  fleet: Fleet,
  { lockFile, ...options }: PublishedPlanOptions,
): Promise<Plan> {
  const lock = await readLock(lockFile);
  refuseAdoptedLock(lock, lockFile);
  return planOpenFleet(fleet, { ...options, lock, published: true, findBaseDigest: async () => null });
}

/** In the engine and not in the registry. */
function isUnpushed({ action, locked, inputDigest }: PlannedCell): boolean {
  return Boolean(
    action === "build" && locked?.created && locked.digest === null && locked.inputDigest === inputDigest,
  );
}
