/** Finds cells of a lock: by the name that a person gives, or by axes. */

import { ImgmatchError } from "../errors.ts";
import { repositoriesOf } from "../lock/image-repository.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { groupBy, remember, sortedEntries } from "../io/collections.ts";
import { listSome } from "./misfit.ts";

/** By cell id, else by tag, with or without the repository before it. Throws `CELL_NOT_FOUND`. */
export function findCell(lock: Lock, name: string): { readonly cell: string; readonly image: LockedImage } {
  const byId = Object.hasOwn(lock.images, name) ? lock.images[name] : undefined;
  if (byId !== undefined) return { cell: name, image: byId };
  const prefix = repositoriesOf(lock).find((repository) => name.startsWith(`${repository}:`));
  const tag = (prefix === undefined ? name : name.slice(prefix.length + 1)).replace(/@sha256:[0-9a-f]+$/, "");
  const byTag = Object.entries(lock.images).find(([, image]) => image.tag === tag);
  if (byTag !== undefined) return { cell: byTag[0], image: byTag[1] };
  const cells = Object.keys(lock.images).sort();
  const similar = cells.filter((cell) => cell.includes(name));
  throw new ImgmatchError({
    code: "CELL_NOT_FOUND",
    message: `no cell and no tag of the lock is called ${name}`,
    fix:
      cells.length === 0
        ? "run imgmatch build: the lock is empty"
        : `for example: ${listSome(similar.length > 0 ? similar : cells, 5)}`,
  });
}

export type Axes = Readonly<Record<string, string>>;

/** A cell that a lock has: no fix proposes to add it. */
export type ExistingCell = readonly [cell: string, image: LockedImage];

/** The cells that agree with the axes, except in the named axes. */
export type FindCells = (axes: Axes, but: readonly string[]) => readonly ExistingCell[];

/** Reads the lock when it is first asked. */
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
