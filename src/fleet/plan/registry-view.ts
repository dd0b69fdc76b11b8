/** Compares a plan with registries: images that are published already, and bases that have moved. */

import type { Lock, LockedImage } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import { compareText, remember } from "../../io/collections.ts";
import type { MovedBase, Plan, PlannedCell } from "./planned-cell.ts";

export interface RegistryView {
  /** The images that the registry has under the tags of cells that are to be built, by cell. */
  readonly published: ReadonlyMap<string, PublishedImage>;
  /** The present digests of base references. A base whose registry did not answer is missing, and counts as not moved. */
  readonly bases: ReadonlyMap<string, Digest>;
}

export interface PublishedImage {
  readonly digest: Digest;
  /** null for an image that imgmatch did not build. */
  readonly inputs: Digest | null;
  /** The reason if it is no image for the cell's platform. */
  readonly isNot?: string;
}

/**
 * A cell to build whose tag exists becomes `adopt` or `conflict`. A cell to keep becomes `stale` if a base has moved; a build still keeps it,
 * until somebody updates the bases.
 */
export function withRegistryView(plan: Plan, view: RegistryView): Plan {
  return { ...plan, cells: plan.cells.map((planned) => viewed(planned, view)) };
}

function viewed(planned: PlannedCell, { published, bases }: RegistryView): PlannedCell {
  const moved = planned.bases.flatMap(({ used, digest }): MovedBase[] => {
    const now = bases.get(used);
    return digest === null || now === undefined || now === digest
      ? []
      : [{ ref: used, from: digest, to: now }];
  });
  const found = published.get(planned.cell.id);
  if (planned.action === "keep" && moved.length > 0) {
    const names = moved.map(({ ref }) => ref).join(", ");
    return { ...planned, action: "stale", reason: `moved: ${names}`, moved };
  }
  if (planned.action !== "build" || found === undefined || planned.inputDigest === null)
    return { ...planned, moved };
  if (found.inputs === planned.inputDigest) {
    const reason = `the registry has ${found.digest} of the same inputs`;
    return { ...planned, action: "adopt", reason, moved, published: found.digest };
  }
  const theirs =
    found.isNot !== undefined
      ? `(no image for ${planned.cell.platform}: ${found.isNot})`
      : found.inputs === null
        ? "without inputs label"
        : `of inputs ${found.inputs}`;
  const reason = `the tag holds ${found.digest} ${theirs}; this cell has inputs ${planned.inputDigest}`;
  return { ...planned, action: "conflict", reason, moved, published: found.digest };
}

/** The references of bases that can move: bases with a digest, local bases and cells of another fleet cannot. */
export function movableBases({ cells }: Pick<Plan, "cells">): string[] {
  const refs = cells.flatMap(({ bases }) =>
    bases.flatMap(({ used, local, parent }) => (local === undefined && parent === undefined ? [used] : [])),
  );
  return [...new Set(refs)].filter((ref) => !ref.includes("@")).sort();
}

/** A pin of the lock on a base that has moved. */
export interface BaseUpdate {
  readonly ref: string;
  readonly from: Digest;
  readonly to: Digest;
  /** Cells that were built on `from` and will be built on `to`. */
  readonly cells: readonly string[];
}

/** The pins of these cells that would change, sorted by reference. A cell that is not in the lock has no pin. */
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

/** The lock with the current digests as `nextBases` of these cells. The rest of their images stays. */
export function withUpdatedBases(
  lock: Lock,
  cells: readonly PlannedCell[],
  current: ReadonlyMap<string, Digest>,
): Lock {
  const images: Record<string, LockedImage> = { ...lock.images };
  for (const { cell, bases } of cells) {
    const image = images[cell.id];
    if (image === undefined) continue;
    const next = bases.flatMap(({ used, digest, local, config }) => {
      const now = current.get(used) ?? digest;
      const isSame = now === digest;
      return now === null
        ? []
        : [{ ref: used, digest: now, ...(local && { local }), ...(isSame && config && { config }) }];
    });
    const { nextBases: _, ...rest } = image;
    const built = new Map(image.bases.map(({ ref, digest }) => [ref, digest]));
    const moves = next.some(({ ref, digest }) => built.has(ref) && built.get(ref) !== digest);
    images[cell.id] = moves ? { ...rest, nextBases: next } : rest;
  }
  return { ...lock, images };
}
