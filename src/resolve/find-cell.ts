/** Finds the image that a person names. */

import { ImgmatchError } from "../errors.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { listSome } from "./misfit.ts";

export interface FoundCell {
  readonly cell: string;
  readonly image: LockedImage;
}

/** By cell id, else by tag, with or without the repository before it. Throws `CELL_NOT_FOUND`. */
export function findCell(lock: Lock, name: string): FoundCell {
  const byId = Object.hasOwn(lock.images, name) ? lock.images[name] : undefined;
  if (byId !== undefined) return { cell: name, image: byId };
  const prefix = `${lock.repository}:`;
  const tag = (name.startsWith(prefix) ? name.slice(prefix.length) : name).replace(/@sha256:[0-9a-f]+$/, "");
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
