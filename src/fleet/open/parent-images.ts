/** Finds the images of parent fleets on which this fleet's cells are built. */

import { join } from "node:path";
import { lockPath, type Lock, type LockedImage } from "../../lock/lock.ts";
import { readLockIfPresent } from "../../lock/store/lock-file.ts";
import { shortDigest } from "../cells/input-digest.ts";
import { repositoryOfCell } from "../cells/cell-settings.ts";
import type { Fleet } from "./open-fleet.ts";
import type { PlannedBase, PlannedCell } from "../plan/planned-cell.ts";

export interface ParentImage {
  readonly base: PlannedBase;
  /** True for a published image whose tag has its input digest: no other image can get the tag. */
  readonly isOwnTag: boolean;
}

/** The images of other fleets, by their references in Dockerfiles. `plans` has those fleets, each by cell. */
export function parentImages(
  { parents }: Fleet,
  plans: ReadonlyMap<Fleet, ReadonlyMap<string, PlannedCell>>,
): ReadonlyMap<string, ParentImage> {
  const images = new Map<string, ParentImage>();
  for (const [ref, { fleet, file, cell }] of parents) {
    const planned = plans.get(fleet)?.get(cell.id);
    if (planned === undefined) continue;
    const { action, locked, tag, inputDigest } = planned;
    const used = tag === null ? ref : `${repositoryOfCell(fleet.matrix, cell)}:${tag}`;
    const known = { ref, used, parent: { matrix: file, cell: cell.id } };
    const { digest = null, local } = (action === "keep" ? locked : null) ?? {};
    if (digest === null) {
      const held = { ...known, digest: local?.id ?? null, ...(local && { local: local.engine }) };
      images.set(ref, { base: held, isOwnTag: false });
    } else {
      const isOwnTag = inputDigest !== null && (tag ?? "").includes(shortDigest(inputDigest));
      images.set(ref, { base: { ...known, digest }, isOwnTag });
    }
  }
  return images;
}

/** The locks of all fleets that a fleet is built on, directly or not. */
export async function parentLocks({ parents }: Fleet): Promise<readonly (Lock | null)[]> {
  const fleets = [...new Set([...parents.values()].map(({ fleet }) => fleet))];
  const found = await Promise.all(
    fleets.map(async (fleet) => [await parentLock(fleet), ...(await parentLocks(fleet))]),
  );
  return found.flat();
}

export function parentLock({ root }: Fleet): Promise<Lock | null> {
  return readLockIfPresent(join(root, lockPath));
}

/**
 * The bases with the digests that the lock's image was built on, where these were ids of an engine's images and the bases are published now.
 * Undefined if there is no such base.
 */
export function builtOnLocal(
  bases: readonly PlannedBase[],
  images: ReadonlyMap<string, ParentImage>,
  locked: Pick<LockedImage, "bases"> | undefined,
): readonly PlannedBase[] | undefined {
  const then = bases.map((base) => {
    if (!images.get(base.ref)?.isOwnTag) return base;
    const builtOn = locked?.bases.find(({ ref, local }) => ref === base.used && local !== undefined);
    return builtOn?.local === undefined ? base : { ...base, digest: builtOn.digest, local: builtOn.local };
  });
  return then.some((base, index) => base !== bases[index]) ? then : undefined;
}
