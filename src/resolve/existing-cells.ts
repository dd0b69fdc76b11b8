/** Cells that a lock has already: no fix proposes to add one of them. */

import type { Lock } from "../lock/lock.ts";
import { sortedEntries } from "../oci/text-order.ts";

type Axes = Readonly<Record<string, string>>;

/** Finds the built cell with these axes and another march; the lock is read when it is first asked. */
export type FindCellOf = (axes: Axes, march: string) => string | null;

export function existingCells({ images }: Pick<Lock, "images">): FindCellOf {
  let byAxes: ReadonlyMap<string, string> | null = null;
  return (axes, march) => {
    byAxes ??= new Map(
      Object.entries(images)
        .filter(([, { digest }]) => digest !== null)
        .map(([cell, image]) => [keyOf(image.axes), cell]),
    );
    return byAxes.get(keyOf({ ...axes, march })) ?? null;
  };
}

function keyOf(axes: Axes): string {
  return JSON.stringify(sortedEntries(axes));
}
