/** Changing the lock while others may do the same: read, change, replace, one process at a time. */

import { createHash, randomUUID } from "node:crypto";
import { lstat, mkdir, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ImgmatchError } from "../errors.ts";
import { errnoMessage, isErrno } from "../io/files.ts";
import type { Lock } from "./lock.ts";
import { readLockIfPresent, writeLock } from "./lock-file.ts";

/** The guard is held for one read and one write: who holds it for longer is gone, whatever its process number says. */
const staleMs = 60_000;

/**
 * Applies `change` to the lock on disk, so that two builds of one fleet lose nothing of each other.
 * Throws `LOCK_BUSY` when other processes hold it for longer than `patienceMs`, and what reading and writing throw.
 */
export async function updateLock(
  path: string,
  change: (lock: Lock | null) => Lock,
  { patienceMs = 10_000 }: { readonly patienceMs?: number } = {},
): Promise<Lock> {
  const guard = `${path}.busy`;
  await acquire(guard, patienceMs);
  try {
    const lock = change(await readLockIfPresent(path));
    await writeLock(path, lock);
    return lock;
  } finally {
    await rm(guard, { force: true });
  }
}

async function acquire(guard: string, patienceMs: number): Promise<void> {
  const deadline = performance.now() + patienceMs;
  await mkdir(dirname(guard), { recursive: true }).catch((error: unknown) => {
    throw unwritable(guard, error);
  });
  while (!(await create(guard))) {
    const holder = await readHolder(guard);
    if (holder?.isGone && (await takeOver(guard, holder))) continue;
    if (performance.now() > deadline) {
      throw new ImgmatchError({
        code: "LOCK_BUSY",
        message: `another process${holder?.pid ? ` (${holder.pid})` : ""} is writing the lock for more than ${patienceMs / 1000} s`,
        fix: `wait for it; if there is none, remove ${guard}`,
        at: { file: guard },
      });
    }
    await sleep(20 + Math.random() * 30);
  }
}

/**
 * Creates the guard; false when there is one. A symbolic link whose target is the holder: it comes into being with its
 * text, while a file can be left empty by a process that is killed after creating it.
 */
async function create(guard: string): Promise<boolean> {
  const holder = `${process.pid} ${hostname()} ${randomUUID()}`;
  try {
    // Windows allows links to few, and some file systems have none.
    await symlink(holder, guard).catch((error: unknown) => {
      if (isErrno(error, "EEXIST")) throw error;
      return writeFile(guard, holder, { flag: "wx" });
    });
    return true;
  } catch (error) {
    if (isErrno(error, "EEXIST")) return false;
    throw unwritable(guard, error);
  }
}

interface Holder {
  readonly pid: number;
  /** The guard's whole text: no two guards have the same. */
  readonly text: string;
  readonly isGone: boolean;
}

/** null when the guard was removed meanwhile. */
async function readHolder(guard: string): Promise<Holder | null> {
  try {
    const stats = await lstat(guard);
    const text = stats.isSymbolicLink() ? await readlink(guard) : await readFile(guard, "utf8");
    const [, pid = "", host] = /^(\d+) (\S+) /.exec(text) ?? [];
    // A process number means nothing on another machine or in another container.
    const isDead = host === hostname() && !isAlive(Number(pid));
    return { pid: Number(pid), text, isGone: isDead || Date.now() - stats.mtimeMs > staleMs };
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw unwritable(guard, error);
  }
}

/**
 * Removes the guard of a process that was killed between two writes; the lock itself is whole. Only who creates the
 * claim on exactly this guard may remove it, so that nobody removes the guard of whoever took over first.
 */
async function takeOver(guard: string, holder: Holder): Promise<boolean> {
  const claim = `${guard}.${createHash("sha256").update(holder.text).digest("hex").slice(0, 12)}`;
  if (!(await create(claim))) {
    const claimant = await readHolder(claim);
    // Killed while taking over.
    if (claimant?.isGone) await rm(claim, { force: true });
    return false;
  }
  try {
    const now = await readHolder(guard);
    if (now?.text === holder.text) await rm(guard, { force: true });
  } finally {
    await rm(claim, { force: true });
  }
  return true;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: there is such a process, of another user.
    return isErrno(error, "EPERM");
  }
}

function unwritable(guard: string, error: unknown): ImgmatchError {
  const message = `cannot be written: ${errnoMessage(error)}`;
  return new ImgmatchError({ code: "WRITE_FAILED", message, at: { file: guard } }, { cause: error });
}
