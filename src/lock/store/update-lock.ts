/** Changes the lock on disk: read, change, replace, one process at a time. */

import { ImgmatchError } from "../../errors.ts";
import { refuseForeignLock } from "../adopted-lock.ts";
import { formatLock } from "../format-lock.ts";
import { acquireLease } from "./lease.ts";
import { readLockIfPresent } from "./lock-file.ts";
import type { Lock } from "../lock.ts";

/** A process that loses its lease so often is too slow: it fails. */
const tries = 5;

/**
 * Applies `change` to the lock on disk. Two builds of one fleet lose nothing of each other's work. `change` may be called again: after a long
 * pause another process may have changed the lock meanwhile.
 *
 * Throws `LOCK_BUSY` if other processes hold it for longer than `patienceMs`, the errors of reading and writing, and with `repository` as
 * {@link refuseForeignLock} does.
 */
export async function updateLock(
  path: string,
  change: (lock: Lock | null) => Lock,
  { patienceMs = 10_000, repository }: { readonly patienceMs?: number; readonly repository?: string } = {},
): Promise<Lock> {
  for (let done = 0; done < tries; done++) {
    const lease = await acquireLease(path, patienceMs);
    try {
      const known = await readLockIfPresent(path);
      if (repository !== undefined) refuseForeignLock(known, repository, path);
      const lock = change(known);
      if (await lease.replace(formatLock(lock))) return lock;
    } finally {
      await lease.release();
    }
  }
  throw new ImgmatchError({
    code: "LOCK_BUSY",
    message: `other processes have taken the lock over ${tries} times before it could be written`,
    fix: "run the same command again when this machine is less busy",
    at: { file: path },
  });
}
