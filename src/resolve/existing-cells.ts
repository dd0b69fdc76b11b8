/** Cells that a lock has already: no fix proposes to add one of them. */

import type { Lock, LockedImage } from "../lock/lock.ts";
import { groupBy } from "../oci/group-by.ts";
import { sortedEntries } from "../oci/text-order.ts";
import type { ResolveOptions } from "./resolve-options.ts";
import { plainPins } from "./pins.ts";
import { remember } from "../oci/remember.ts";

type Axes = Readonly<Record<string, string>>;
export type ExistingCell = readonly [cell: string, image: LockedImage];

/** The options as the rules read them. Throws `USAGE` for a range among the pins. */
export function judgeOptions(lock: Lock, options: ResolveOptions) {
  return { ...options, pins: plainPins(options.pins ?? {}), existing: existingCells(lock) };
}

/** The cells that agree with these axes in all but those named; the lock is read when it is first asked. */
export type FindCells = (axes: Axes, but: readonly string[]) => readonly ExistingCell[];

export function existingCells({ images }: Pick<Lock, "images">): FindCells {
  const indexes = new Map<string, ReadonlyMap<string, readonly ExistingCell[]>>();
  return (axes, but) => {
    const index = remember(indexes, but.join(), () =>
      groupBy(sortedEntries(images), ([, image]) => keyOf(image.axes, but)),
    );
    return index.get(keyOf(axes, but)) ?? [];
  };
}

function keyOf(axes: Axes, but: readonly string[]): string {
  return JSON.stringify(sortedEntries(axes).filter(([axis]) => !but.includes(axis)));
}
