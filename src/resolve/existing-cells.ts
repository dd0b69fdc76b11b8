/** Cells that a lock has already: no fix proposes to add one of them. */

import type { Lock, LockedImage } from "../lock/lock.ts";

type Axes = Readonly<Record<string, string>>;
export type ExistingCell = readonly [cell: string, image: LockedImage];

/** The cells that agree with these axes in all but those named; the lock is read when it is first asked. */
export type FindCells = (axes: Axes, but: readonly string[]) => readonly ExistingCell[];

export function existingCells({ images }: Pick<Lock, "images">): FindCells {
  const indexes = new Map<string, ReadonlyMap<string, readonly ExistingCell[]>>();
  return (axes, but) => {
    const name = but.join();
    const index = indexes.get(name) ?? indexBy(images, but);
    indexes.set(name, index);
    return index.get(keyOf(axes, but)) ?? [];
  };
}

function indexBy(images: Lock["images"], but: readonly string[]): ReadonlyMap<string, ExistingCell[]> {
  const index = new Map<string, ExistingCell[]>();
  for (const entry of Object.entries(images).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const key = keyOf(entry[1].axes, but);
    const group = index.get(key);
    if (group === undefined) index.set(key, [entry]);
    else group.push(entry);
  }
  return index;
}

function keyOf(axes: Axes, but: readonly string[]): string {
  const kept = Object.entries(axes).filter(([axis]) => !but.includes(axis));
  return JSON.stringify(kept.sort(([a], [b]) => (a < b ? -1 : 1)));
}
