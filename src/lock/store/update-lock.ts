/** Changes the lock on disk: read, change, replace, one process at a time. */

import { ImgmatchError } from "../../errors.ts";
import { refuseForeignLock } from "../adopted-lock.ts";
import { formatLock } from "../format-lock.ts";
import { acquireLease } from "./lease.ts";
import { readLockIfPresent } from "./lock-file.ts";
import type { Lock } from "../lock.ts";

/** A process that loses its lease so often is too slow: it fails. */
const tries = 5;

export interface LockWriter {
  readonly patienceMs?: number;
  /** Default: any. */
  readonly repository?: string;
  /** As of {@link refuseOtherVersion}. A write leaves the written version alone. Default: any. */
  readonly versions?: Set<string>;
}

/**
 * Throws `LOCK_BUSY` for a lock of none of these versions: another run has moved the lock since this run began, and with rows of two versions the
 * lock and the index of a version would disagree.
 */
export function refuseOtherVersion(lock: Lock | null, versions: ReadonlySet<string>, file: string): void {
  if (lock === null || versions.has(lock.version)) return;
  throw new ImgmatchError({
    code: "LOCK_BUSY",
    message: `another run has moved the lock to version ${lock.version} since this run of version ${[...versions][0]} began`,
    fix: "build one version after the other, or name a lock for each version with --lock; the next run takes over what was pushed",
    at: { file },
  });
}

/**
 * Applies `change` to the lock on disk. Two builds of one fleet lose nothing of each other's work. `change` may be called again: after a long
 * pause another process may have changed the lock meanwhile.
 *
 * Throws `LOCK_BUSY` if other processes hold it for longer than `patienceMs`, the errors of reading and writing, with `repository` as
 * {@link refuseForeignLock} does, and with `versions` as {@link refuseOtherVersion} does.
 */
export async function updateLock(
  path: string,
  change: (lock: Lock | null) => Lock,
  { patienceMs = 10_000, repository, versions }: LockWriter = {},
): Promise<Lock> {
  for (let done = 0; done < tries; done++) {
    const lease = await acquireLease(path, patienceMs);
    try {
      const known = await readLockIfPresent(path);
      if (repository !== undefined) refuseForeignLock(known, repository, path);
      if (versions !== undefined) refuseOtherVersion(known, versions, path);
      const lock = change(known);
      if (!(await lease.replace(formatLock(lock)))) continue;
      for (const other of [...(versions ?? [])]) if (other !== lock.version) versions?.delete(other);
      return lock;
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
