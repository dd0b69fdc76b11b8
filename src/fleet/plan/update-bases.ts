/** Moving the lock's pins of base images to what their references mean now. Pure. */

import type { Lock, LockedImage } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import type { PlannedCell } from "./planned-cell.ts";
import { remember } from "../../oci/remember.ts";
import { compareText } from "../../oci/text-order.ts";

export interface BaseUpdate {
  readonly ref: string;
  readonly from: Digest;
  readonly to: Digest;
  /** Cells that were built on `from` and will be built on `to`. */
  readonly cells: readonly string[];
}

/** What would change for these cells, by reference. Cells that the lock does not have take what is current anyway. */
export function baseUpdates(
  cells: readonly PlannedCell[],
  current: ReadonlyMap<string, Digest>,
): BaseUpdate[] {
  const updates = new Map<string, BaseUpdate & { cells: string[] }>();
  for (const { cell, locked, bases } of cells) {
    if (locked === null) continue;
    for (const { used, digest } of bases) {
      const to = current.get(used);
      if (digest === null || to === undefined || to === digest) continue;
      const key = `${used} ${digest}`;
      remember(updates, key, () => ({ ref: used, from: digest, to, cells: [] })).cells.push(cell.id);
    }
  }
  return [...updates.values()].sort((one, other) => compareText(one.ref, other.ref));
}

/** The lock with the current digests as the next bases of these cells. What was built stays as it was. */
export function withUpdatedBases(
  lock: Lock,
  cells: readonly PlannedCell[],
  current: ReadonlyMap<string, Digest>,
): Lock {
  const images: Record<string, LockedImage> = { ...lock.images };
  for (const { cell, bases } of cells) {
    const image = images[cell.id];
    if (image === undefined) continue;
    const next = bases.flatMap(({ used, digest, local }) => {
      const now = current.get(used) ?? digest;
      return now === null ? [] : [{ ref: used, digest: now, ...(local && { local }) }];
    });
    const { nextBases: _, ...rest } = image;
    const built = new Map(image.bases.map(({ ref, digest }) => [ref, digest]));
    const moves = next.some(({ ref, digest }) => built.has(ref) && built.get(ref) !== digest);
    images[cell.id] = moves ? { ...rest, nextBases: next } : rest;
  }
  return { ...lock, images };
}
