/** A lock is of one repository, and nobody but its own fleet may change it. */

import { ImgmatchError } from "../errors.ts";
import type { Lock } from "./lock.ts";

/**
 * Throws `USAGE` for the lock of another repository that has published images: to write it would drop images that machines
 * resolve to. One that has none yet may become another fleet's.
 */
export function refuseForeignLock(lock: Lock | null, repository: string, file: string): void {
  if (lock === null || lock.repository === repository) return;
  const published = Object.values(lock.images).filter(({ digest }) => digest !== null).length;
  if (published === 0) return;
  throw new ImgmatchError({
    code: "USAGE",
    message: `the lock is of ${lock.repository}; to write it for ${repository} would drop its ${published === 1 ? "1 published image" : `${published} published images`}`,
    fix: "name a lock of its own with --lock, or remove this one if it is no longer needed",
    at: { file },
  });
}
