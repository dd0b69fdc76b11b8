/** `imgmatch lock --prune`: the lock without what the matrix has no cell for, and what it excludes or holds impossible. */

import { refuseAdoptedLock, refuseForeignLock } from "../lock/adopted-lock.ts";
import { readLock } from "../lock/lock-file.ts";
import { updateLock } from "../lock/update-lock.ts";
import type { Fleet } from "./open-fleet.ts";

/** Answers the ids of what was removed. Throws `LOCK_…` for a lock that is not there, or of another repository. */
export async function pruneLock({ matrix, cells }: Fleet, lockFile: string): Promise<readonly string[]> {
  const known = await readLock(lockFile);
  const { repository } = matrix;
  refuseAdoptedLock(known, lockFile);
  refuseForeignLock(known, repository, lockFile);
  const buildable = new Set(cells.filter(({ skipped }) => skipped === null).map(({ cell }) => cell.id));
  const retired = Object.keys(known.images).filter((cell) => !buildable.has(cell));
  if (retired.length === 0) return [];
  await updateLock(
    lockFile,
    (lock) => {
      const { images, ...head } = lock ?? known;
      const kept = Object.entries(images).filter(([cell]) => buildable.has(cell));
      return { ...head, images: Object.fromEntries(kept) };
    },
    { repository },
  );
  return retired.sort();
}
