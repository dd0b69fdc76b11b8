/** Reads the lock from disk and checks it. */

import { existsSync } from "node:fs";
import { ImgmatchError } from "../../errors.ts";
import { readTextFile } from "../../io/files.ts";
import { inputLimits } from "../../io/limits.ts";
import type { Lock } from "../lock.ts";
import { parseLock } from "../parse-lock.ts";

/** Throws `LOCK_NOT_FOUND` without a file. */
export async function readLock(path: string, shown = path): Promise<Lock> {
  const text = await readTextFile(path, inputLimits.lock, {
    missingCode: "LOCK_NOT_FOUND",
    shown,
    fix: "run imgmatch build --push to make one, or name another with --lock",
    flag: "--lock",
  });
  return parseLock(text, shown);
}

/** null without a file. A lock that cannot be read throws. */
export async function readLockIfPresent(path: string, shown = path): Promise<Lock | null> {
  if (!existsSync(path)) return null;
  try {
    return await readLock(path, shown);
  } catch (error) {
    if (error instanceof ImgmatchError && error.code === "LOCK_NOT_FOUND") return null;
    throw error;
  }
}
