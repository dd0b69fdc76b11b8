/** `imgmatch lock --update-bases`: what the next build is to use in place of bases that have moved. */

import { type Problem, throwProblems } from "../errors.ts";
import { refuseAdoptedLock, refuseForeignLock } from "../lock/adopted-lock.ts";
import { readLock } from "../lock/lock-file.ts";
import { updateLock } from "../lock/update-lock.ts";
import type { Digest } from "../oci/digest.ts";
import { type BaseUpdate, baseUpdates, movableBases, withUpdatedBases } from "./plan/registry-view.ts";
import type { Fleet } from "./open-fleet.ts";
import { type FleetPlanOptions, planOpenFleet } from "./plan-open-fleet.ts";

export interface MoveBasesOptions extends Omit<FleetPlanOptions, "lock" | "published"> {
  readonly lockFile: string;
  /** Filled by `findBaseDigest` with what it could not find. */
  readonly problems: readonly Problem[];
}

export interface MovedBases {
  /** How many references were asked for. */
  readonly checked: number;
  readonly updates: readonly BaseUpdate[];
}

/** Throws all `problems` together, and `LOCK_…` for a lock that is not there, or of another repository. */
export async function moveBases(
  fleet: Fleet,
  { lockFile, problems, ...options }: MoveBasesOptions,
): Promise<MovedBases> {
  const known = await readLock(lockFile);
  const { repository } = fleet.matrix;
  refuseAdoptedLock(known, lockFile);
  refuseForeignLock(known, repository, lockFile);
  const { cells } = await planOpenFleet(fleet, { ...options, lock: known });
  const locked = cells.filter((planned) => planned.locked !== null);
  const refs = movableBases({ cells: locked });
  const found = await Promise.all(refs.map(async (ref) => [ref, await options.findBaseDigest(ref)] as const));
  // Some bases updated and others not would be neither the old state nor the new one.
  throwProblems(problems);
  const current = new Map(found.filter((pair): pair is [string, Digest] => pair[1] !== null));
  const updates = baseUpdates(locked, current);
  if (updates.length > 0)
    await updateLock(lockFile, (lock) => withUpdatedBases(lock ?? known, locked, current), { repository });
  return { checked: refs.length, updates };
}
