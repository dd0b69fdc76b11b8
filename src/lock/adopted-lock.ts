/** Locks of images that others built. No matrix makes them, so build, plan and prune refuse such a lock. */

import { ImgmatchError } from "../errors.ts";
import { count, firstOf } from "../io/table.ts";
import type { LocalEngine, Lock } from "./lock.ts";

/** Others built all images of the lock. */
export function isAdopted({ images }: Pick<Lock, "images">): boolean {
  const all = Object.values(images);
  return all.length > 0 && all.every(({ adopted }) => adopted !== undefined);
}

/** Lists the cells for the fix of a wrong one: no plan lists them. */
export function namesOf({ images }: Pick<Lock, "images">): string {
  return `its cells are ${firstOf(Object.keys(images).sort(), 10)}`;
}

/** Throws `LOCK_ADOPTED` for a lock with adopted images: a matrix retires them all, and a prune would drop what machines resolve to. */
export function refuseAdoptedLock(lock: Lock | null, file: string, option = "--lock"): void {
  const adopted = Object.values(lock?.images ?? {}).filter((image) => image.adopted !== undefined).length;
  if (adopted === 0) return;
  throw new ImgmatchError({
    code: "LOCK_ADOPTED",
    message: `the lock holds ${count(adopted, "image")} that others built (imgmatch adopt), and no matrix makes ${adopted === 1 ? "it" : "them"}`,
    fix: `name another lock for the matrix with ${option}; adopt, publish and lock rm change this one`,
    at: { file },
  });
}

/**
 * Throws `USAGE` for the lock of another repository with published images: a write would drop images that machines resolve to. A lock
 * without published images may become another fleet's.
 */
export function refuseForeignLock(lock: Lock | null, repository: string, file: string): void {
  if (lock === null || lock.repository === repository) return;
  const published = Object.values(lock.images).filter(({ digest }) => digest !== null).length;
  if (published === 0) return;
  throw new ImgmatchError({
    code: "USAGE",
    message: `the lock is of ${lock.repository}; to write it for ${repository} would drop its ${count(published, "published image")}`,
    fix: "name another lock with --lock, or remove this lock if nobody needs it",
    at: { file },
  });
}

/** The engines that have images of the lock that no registry has. */
export function unpushedEngines({ images }: Pick<Lock, "images">): ReadonlySet<LocalEngine> {
  return new Set(
    Object.values(images).flatMap(({ digest, local }) =>
      digest === null && local !== undefined ? [local.engine] : [],
    ),
  );
}
