/** The lock of images that others built: no matrix makes them, so no build, plan or prune has a word on them. */

import { ImgmatchError } from "../errors.ts";
import type { Lock } from "./lock.ts";

/** Whether all images of a lock were built by others. */
export function isAdopted({ images }: Pick<Lock, "images">): boolean {
  const all = Object.values(images);
  return all.length > 0 && all.every(({ adopted }) => adopted !== undefined);
}

/** What to do after a wrong name of one: no plan lists them. */
export function namesOf({ images }: Pick<Lock, "images">): string {
  const names = Object.keys(images).sort();
  return `its cells are ${names.slice(0, 10).join(", ")}${names.length > 10 ? " …" : ""}`;
}

/**
 * Throws `LOCK_ADOPTED` for a lock with adopted images: to a matrix each of them would be retired, and a prune would drop what
 * machines resolve to.
 */
export function refuseAdoptedLock(lock: Lock | null, file: string): void {
  const adopted = Object.values(lock?.images ?? {}).filter((image) => image.adopted !== undefined).length;
  if (adopted === 0) return;
  throw new ImgmatchError({
    code: "LOCK_ADOPTED",
    message: `the lock holds ${adopted === 1 ? "1 image" : `${adopted} images`} that others built (imgmatch adopt), and no matrix makes ${adopted === 1 ? "it" : "them"}`,
    fix: "name a lock of its own for the matrix with --lock; adopt, publish and lock rm change this one",
    at: { file },
  });
}
