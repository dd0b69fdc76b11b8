/**
 * The right to replace one file, for one process at a time.
 *
 * Beside the file lies `FILE.busy/holder/TOKEN`. Every step is one call that the kernel does whole or not at all:
 *
 * - to acquire: a folder with the token is renamed to `holder`, which succeeds only where `holder` is missing or empty;
 * - to replace the file: the token *is* the new file, and is renamed onto the old one, which also ends the lease;
 * - to take over from a holder that was killed: its token is unlinked. Tokens are never used twice, so either the holder's
 *   rename or the unlink comes first, and the other finds nothing. A holder that was only slow finds out, and tries again.
 *
 * (rename(2): an existing directory must be empty; on NFS rename and unlink are the server's.)
 */

import { lstat, mkdir, open, readdir, rename, rm, rmdir, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ImgmatchError } from "../../errors.ts";
import { ignoring, isErrno } from "../../io/files.ts";
import { isLeft, ownedName, ownerIsGone, ownerPid } from "../../io/owner.ts";
import { makeFolderFor } from "../../io/project-folder.ts";
import { writeFailed } from "../../io/system-error.ts";

export interface Lease {
  /** Replaces the file and ends the lease. False, and nothing is replaced, where another process has taken it over. */
  replace(text: string): Promise<boolean>;
  /** Ends it without a change. */
  release(): Promise<void>;
}

/** A holder needs less than a second. After this time it was killed on another machine, or is paused. */
const leaseMs = 5_000;
const prepared = ".new";

/** Throws `LOCK_BUSY` when others hold it for longer than `patienceMs`, and `WRITE_FAILED`. */
export async function acquireLease(path: string, patienceMs: number): Promise<Lease> {
  const busy = `${path}.busy`;
  const token = ownedName();
  const deadline = performance.now() + patienceMs;
  const seen = new Map<string, number>();
  try {
    makeFolderFor(path);
    while (!(await prepare(busy, token)) || !(await moveIn(busy, token))) {
      await takeOver(busy, seen);
      if (performance.now() > deadline) throw await busyError(busy, patienceMs);
      await sleep(20 + Math.random() * 30);
    }
  } catch (error) {
    await tidy(busy, token);
    throw error instanceof ImgmatchError ? error : writeFailed(path, error);
  }
  const held = join(busy, "holder", token);
  return {
    async replace(text) {
      try {
        // Not created here: a token that was unlinked must not come back.
        const file = await open(held, "r+");
        await file
          .writeFile(text)
          .then(() => file.sync())
          .finally(() => file.close());
        await rename(held, path);
        return true;
      } catch (error) {
        if (isErrno(error, "ENOENT")) return false;
        throw writeFailed(path, error);
      }
    },
    async release() {
      await tidy(busy, token);
    },
  };
}

/** Makes the folder that is moved to `holder`. False if another process has tidied up meanwhile. */
async function prepare(busy: string, token: string): Promise<boolean> {
  // Never followed: a checkout may have links there.
  for (const place of [busy, join(busy, "holder")]) {
    const stats = await lstat(place).catch(() => null);
    if (stats !== null && !stats.isDirectory()) await unlink(place).catch(ignoring("ENOENT"));
  }
  try {
    const folder = join(busy, token + prepared);
    // Not `recursive`: that says ENOENT for a full disk.
    for (const made of [busy, folder]) await mkdir(made).catch(ignoring("EEXIST"));
    await writeFile(join(busy, ".gitignore"), "*\n", { flag: "wx" }).catch(ignoring("EEXIST"));
    await writeFile(join(folder, token), "");
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT")) return false;
    throw error;
  }
}

async function moveIn(busy: string, token: string): Promise<boolean> {
  const holder = join(busy, "holder");
  // Windows renames onto no folder, not even an empty one.
  await rmdir(holder).catch(() => {});
  try {
    await rename(join(busy, token + prepared), holder);
    return true;
  } catch (error) {
    const isHeld = ["ENOTEMPTY", "EEXIST", "ENOTDIR", "EPERM", "EACCES", "ENOENT"];
    if (!isHeld.some((code) => isErrno(error, code))) throw error;
    return false;
  }
}

/** Takes the lease from a holder that is gone. `seen`: the time at which each token was first seen. */
async function takeOver(busy: string, seen: Map<string, number>): Promise<void> {
  const holder = join(busy, "holder");
  for (const token of await readdir(holder).catch(() => [])) {
    const now = performance.now();
    const since = seen.get(token) ?? now;
    seen.set(token, since);
    if (ownerIsGone(token) || now - since > leaseMs) await unlink(join(holder, token)).catch(() => {});
  }
}

async function busyError(busy: string, patienceMs: number): Promise<ImgmatchError> {
  const [token = ""] = await readdir(join(busy, "holder")).catch(() => []);
  const pid = ownerPid(token);
  return new ImgmatchError({
    code: "LOCK_BUSY",
    message: `another process${pid === null ? "" : ` (${pid})`} is writing the lock for more than ${patienceMs / 1000} s`,
    fix: `wait for it; if there is none, remove ${busy}`,
    at: { file: busy },
  });
}

/** Removes what is this token's, what killed processes have left, and the folder where nobody waits. What fails is tried once more. */
async function tidy(busy: string, token: string): Promise<void> {
  await tidyOnce(busy, token)
    .catch(() => tidyOnce(busy, token))
    .catch(() => {});
}

/** Others wait, or were quicker. */
function usual(error: unknown): undefined {
  ignoring("ENOENT", "ENOTDIR", "ENOTEMPTY", "EEXIST")(error);
}

async function tidyOnce(busy: string, token: string): Promise<void> {
  const place = await lstat(busy).catch(usual);
  if (!place?.isDirectory()) return;
  await unlink(join(busy, "holder", token)).catch(usual);
  const names = (await readdir(busy).catch(usual)) ?? [];
  for (const name of names.filter((each) => each.endsWith(prepared))) {
    const stats = await lstat(join(busy, name)).catch(usual);
    if (stats && (name === token + prepared || isLeft(name, stats.mtimeMs)))
      await rm(join(busy, name), { recursive: true, force: true });
  }
  await rmdir(join(busy, "holder")).catch(usual);
  const left = (await readdir(busy).catch(usual)) ?? [""];
  if (left.some((name) => name !== ".gitignore")) return;
  await unlink(join(busy, ".gitignore")).catch(usual);
  await rmdir(busy).catch(usual);
}
