/** Takes the matrix's days of deprecation into the lock: no image is built for them. */

import { InternalError } from "../../errors.ts";
import type { LockedImage } from "../../lock/lock.ts";
import { updateLock } from "../../lock/store/update-lock.ts";
import type { Plan, PlannedCell } from "../plan/planned-cell.ts";

/** Answers true if the lock has changed. Throws `WRITE_FAILED` or `LOCK_BUSY`. */
export async function recordDeprecated({ cells, matrix }: Plan, lockFile: string): Promise<boolean> {
  const changed = new Map(cells.filter(isOtherwise).map(({ cell }) => [cell.id, cell.deprecated]));
  if (changed.size === 0) return false;
  await updateLock(
    lockFile,
    (lock) => {
      if (lock === null) throw new InternalError("a lock with images is gone");
      const images = Object.entries(lock.images).map(([id, image]): [string, LockedImage] => {
        if (!changed.has(id)) return [id, image];
        const { deprecated: _, ...rest } = image;
        const day = changed.get(id);
        return [id, day === undefined ? rest : { ...rest, deprecated: day }];
      });
      return { ...lock, images: Object.fromEntries(images) };
    },
    { repository: matrix.repository },
  );
  return true;
}

function isOtherwise({ cell, locked, action }: PlannedCell): boolean {
  return action === "keep" && locked !== null && locked.deprecated !== cell.deprecated;
}
