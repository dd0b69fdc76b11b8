/** Reads the lock from disk and checks it. */

import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { isThere, readTextFile } from "../../io/files.ts";
import { fieldsOf } from "../../io/json.ts";
import { inputLimits } from "../../io/limits.ts";
import type { Lock } from "../lock.ts";
import { parseLock } from "../parse-lock.ts";

/** Throws `LOCK_NOT_FOUND` without a file. */
export async function readLock(path: string, shown = path): Promise<Lock> {
  const text = await readTextFile(path, inputLimits.lock, {
    missingCode: "LOCK_NOT_FOUND",
    shown,
    fix: existsSync(path) ? usualFix : missingFix(path),
    flag: "--lock",
  });
  return parseLock(text, shown);
}

const usualFix = "run imgmatch build --push to make one, or name another with --lock";

/** Nobody has built the fleet of a fresh clone of imgmatch. */
function missingFix(path: string): string {
  const file = join(dirname(path), "..", "package.json");
  const { name, scripts } = fieldsOf(attempt(() => JSON.parse(readFileSync(file, "utf8")), null));
  return name === "imgmatch" && fieldsOf(scripts).demo !== undefined
    ? "npm run demo builds the fleet of this clone of imgmatch; or name another lock with --lock"
    : usualFix;
}

/** null without a file. A lock that cannot be read throws. */
export async function readLockIfPresent(path: string, shown = path): Promise<Lock | null> {
  if (!isThere(path)) return null;
  try {
    return await readLock(path, shown);
  } catch (error) {
    if (error instanceof ImgmatchError && error.code === "LOCK_NOT_FOUND") return null;
    throw error;
  }
}
