/**
 * The right to replace one file, for one process at a time and for as long as it gives signs of life.
 *
 * Beside the file lies `FILE.busy/holder/TOKEN`. Every step is one call that the kernel does whole or not at all:
 *
 * - to acquire: a folder that holds the token is renamed to `holder`, which succeeds only where that is missing or empty;
 * - to replace the file: the token *is* the new file, and is renamed onto the old one, which also ends the lease;
 * - to take over from a holder that gives no sign of life: its token is unlinked. Tokens are never used twice, so either the
 *   holder's rename or the unlink comes first, and the other finds nothing. A process that was paused for an hour finds out.
 *
 * No clock is compared with another: who waits sees for itself that the token's time does not move. (rename(2): an existing
 * directory must be empty; on NFS rename and unlink are the server's. A repeated answer of NFS can only look like a loss.)
 */

import { existsSync } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { lstat, mkdir, open, readdir, rename, rm, rmdir, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ImgmatchError } from "../errors.ts";
import { ignoring, isErrno } from "../io/files.ts";
import { isLeft, ownedName, ownerIsGone, ownerPid } from "../io/owner.ts";
import { makeFolderFor } from "../io/project-folder.ts";
import { writeFailed } from "../io/write-failed.ts";

export interface Lease {
  /** Replaces the file and ends the lease. False, and nothing is replaced, where another process has taken it over. */
  replace(text: string): Promise<boolean>;
  /** Ends it without a change. */
  release(): Promise<void>;
}

export interface LeaseOptions {
  readonly patienceMs: number;
  /** Without a sign of life for so long a holder loses the lease. */
  readonly leaseMs?: number;
}

const signOfLifeMs = 1_000;
const prepared = ".new";

/** Throws `LOCK_BUSY` when others hold it for longer than `patienceMs`, and `WRITE_FAILED`. */
export async function acquireLease(
  path: string,
  { patienceMs, leaseMs = 5 * signOfLifeMs }: LeaseOptions,
): Promise<Lease> {
  const busy = `${path}.busy`;
  const token = ownedName();
  const deadline = performance.now() + patienceMs;
  const silent = createObserver(leaseMs);
  let file: FileHandle | null = null;
  try {
    makeFolderFor(path);
    for (;;) {
      if (file === null) file = await prepare(busy, token, silent);
      if (file !== null && (await moveIn(busy, token))) break;
      // Somebody has cleaned up meanwhile.
      if (file !== null && !existsSync(join(busy, token + prepared))) {
        await file.close();
        file = null;
        continue;
      }
      if (file !== null) await removeSilent(busy, silent);
      if (performance.now() > deadline) throw await busyError(busy, patienceMs);
      await sleep(20 + Math.random() * 30);
    }
  } catch (error) {
    await file?.close();
    await rm(join(busy, token + prepared), { recursive: true, force: true }).catch(() => {});
    await tidy(busy);
    throw error instanceof ImgmatchError ? error : writeFailed(path, error);
  }
  return leaseOf(path, busy, token, file);
}

function leaseOf(path: string, busy: string, token: string, file: FileHandle): Lease {
  const held = join(busy, "holder", token);
  const beat = setInterval(() => {
    const now = new Date();
    // By the open file, so that nothing is brought back that was taken away.
    file.utimes(now, now).catch(() => {});
  }, signOfLifeMs);
  beat.unref();
  let isOpen = true;
  const close = async () => {
    clearInterval(beat);
    if (isOpen) await file.close();
    isOpen = false;
  };
  return {
    async replace(text) {
      try {
        await file.writeFile(text);
        await file.sync();
        await close();
        await rename(held, path);
        return true;
      } catch (error) {
        if (isErrno(error, "ENOENT")) return false;
        throw writeFailed(path, error);
      }
    },
    async release() {
      await close();
      await unlink(held).catch(() => {});
      await tidy(busy);
    },
  };
}

/** Makes the folder that is to be moved in; null where something else than a folder is in the way of all. */
async function prepare(busy: string, token: string, silent: Observer): Promise<FileHandle | null> {
  await mkdir(busy).catch(ignoring("EEXIST"));
  const stats = await lstat(busy).catch(() => null);
  if (stats === null) return null;
  if (!stats.isDirectory()) {
    // A guard of another form: never followed, and removed when nothing has touched it for as long as a lease.
    if (silent(`${stats.ino} ${stats.mtimeMs}`)) await unlink(busy).catch(() => {});
    return null;
  }
  try {
    await writeFile(join(busy, ".gitignore"), "*\n", { flag: "wx" }).catch(ignoring("EEXIST"));
    const folder = join(busy, token + prepared);
    await mkdir(folder);
    return await open(join(folder, token), "wx");
  } catch (error) {
    if (isErrno(error, "ENOENT")) return null;
    throw error;
  }
}

async function moveIn(busy: string, token: string): Promise<boolean> {
  const holder = join(busy, "holder");
  // Windows renames onto no folder, not even an empty one. One that is held is not empty.
  await rmdir(holder).catch(() => {});
  try {
    await rename(join(busy, token + prepared), holder);
    return true;
  } catch (error) {
    const isHeld = ["ENOTEMPTY", "EEXIST", "ENOTDIR", "EPERM", "EACCES", "ENOENT"];
    if (!isHeld.some((code) => isErrno(error, code))) throw error;
    // What denies writing at all has denied the file before.
    return false;
  }
}

/** Says of something whether it has looked the same for long enough. */
type Observer = (state: string) => boolean;

function createObserver(leaseMs: number): Observer {
  const seen = new Map<string, number>();
  return (state) => {
    const now = performance.now();
    const since = seen.get(state) ?? now;
    seen.set(state, since);
    return now - since > leaseMs;
  };
}

/** Takes the lease from a holder that is gone or gives no sign of life. Its token is no one else's, so nobody else is hurt. */
async function removeSilent(busy: string, silent: Observer): Promise<void> {
  const holder = join(busy, "holder");
  const stats = await lstat(holder).catch(() => null);
  if (stats === null) return;
  if (!stats.isDirectory()) {
    if (silent(`holder ${stats.ino} ${stats.mtimeMs}`)) await unlink(holder).catch(() => {});
    return;
  }
  for (const name of await readdir(holder).catch(() => [])) {
    const path = join(holder, name);
    const token = await lstat(path).catch(() => null);
    if (token === null) continue;
    if (ownerIsGone(name) === true || silent(`${name} ${token.ino} ${token.mtimeMs} ${token.size}`))
      await unlink(path).catch(() => {});
  }
}

async function busyError(busy: string, patienceMs: number): Promise<ImgmatchError> {
  const [token = ""] = await readdir(join(busy, "holder")).catch(() => []);
  const pid = ownerIsGone(token) === null ? null : ownerPid(token);
  return new ImgmatchError({
    code: "LOCK_BUSY",
    message: `another process${pid === null ? "" : ` (${pid})`} is writing the lock for more than ${patienceMs / 1000} s`,
    fix: `wait for it; if there is none, remove ${busy}`,
    at: { file: busy },
  });
}

/** Removes what killed processes have left, and the folder where nobody waits. */
async function tidy(busy: string): Promise<void> {
  const stats = await lstat(busy).catch(() => null);
  if (!stats?.isDirectory()) return;
  for (const name of await readdir(busy).catch(() => [])) {
    if (!name.endsWith(prepared)) continue;
    const stats = await lstat(join(busy, name)).catch(() => null);
    if (stats !== null && isLeft(name, stats.mtimeMs))
      await rm(join(busy, name), { recursive: true, force: true }).catch(() => {});
  }
  await rmdir(join(busy, "holder")).catch(() => {});
  const left = await readdir(busy).catch(() => [""]);
  if (left.some((name) => name !== ".gitignore")) return;
  await unlink(join(busy, ".gitignore")).catch(() => {});
  await rmdir(busy).catch(() => {});
}
