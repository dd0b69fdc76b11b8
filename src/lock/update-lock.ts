/** Changing the lock while others may do the same: read, change, replace, one process at a time. */

import { ImgmatchError } from "../errors.ts";
import { refuseForeignLock } from "./adopted-lock.ts";
import { formatLock } from "./format-lock.ts";
import { acquireLease } from "./lease.ts";
import { readLockIfPresent } from "./lock-file.ts";
import type { Lock } from "./lock.ts";

export interface UpdateLockOptions {
  /** How long others may hold it. */
  readonly patienceMs?: number;
  /** Whose lock it has to be: see {@link refuseForeignLock}. Default: anybody's. */
  readonly repository?: string;
}

/** A process so slow that it loses its lease so often is told, rather than tried for ever. */
const tries = 5;

/**
 * Applies `change` to the lock on disk, so that two builds of one fleet lose nothing of each other. A process that was paused
 * for so long that another has gone on without it applies its change to what is there then: `change` may be called again.
 * Throws `LOCK_BUSY` when other processes hold it for longer than `patienceMs`, and what reading and writing throw.
 */
export async function updateLock(
  path: string,
  change: (lock: Lock | null) => Lock,
  { patienceMs = 10_000, repository }: UpdateLockOptions = {},
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
