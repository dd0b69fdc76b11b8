/** The files of a container runtime in their places: what somebody else has written there stays. */

import { lstatSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { type Problem, throwProblems } from "../../errors.ts";
import { attempt } from "../../io/attempt.ts";
import { isErrno, readBounded, unreadable } from "../../io/files.ts";
import { inputLimits } from "../../io/limits.ts";
import { writeFailed } from "../../io/system-error.ts";
import { writeFileAtomic } from "../../io/write-file.ts";
import { isOwnText, type Runtime, type RuntimeConfig, runtimeFiles } from "./runtime-config.ts";

/** Throws `FILE_EXISTS` for each file that imgmatch did not write as it stands, before any is written; `WRITE_FAILED`. */
export async function installConfig(folder: string, { files }: RuntimeConfig): Promise<void> {
  const others = files.filter(({ path }) => !isOwn(join(folder, path)));
  throwProblems(others.map(({ path, content }) => foreign(join(folder, path), content)));
  for (const { path, content } of files) await writeFileAtomic(join(folder, path), content);
}

/** Removes what was installed for this runtime, and answers the paths. A file that was changed by hand since stays. Throws `WRITE_FAILED`. */
export function removeConfig(folder: string, runtime: Runtime): readonly string[] {
  const { folder: place, name } = runtimeFiles[runtime];
  const names = attempt(() => readdirSync(join(folder, place)).sort(), []);
  const files = names
    .map((each) => (name === null ? each : join(each, name)))
    .map((each) => join(place, each));
  const own = files.filter((path) => isThere(join(folder, path)) && isOwn(join(folder, path)));
  for (const path of own) {
    try {
      rmSync(join(folder, path));
    } catch (error) {
      throw writeFailed(join(folder, path), error);
    }
    // The registry's own folder, where nothing else is left in it.
    if (name !== null) attempt(() => rmdirSync(dirname(join(folder, path))), undefined);
  }
  return own;
}

function isThere(path: string): boolean {
  try {
    lstatSync(path);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT") || isErrno(error, "ENOTDIR")) return false;
    throw unreadable(path, error);
  }
}

/** Also where there is none. A link is somebody else's, wherever it leads. */
function isOwn(path: string): boolean {
  if (!isThere(path)) return true;
  return lstatSync(path).isFile() && isOwnText(readBounded(path, inputLimits.runtimeConfig).toString("utf8"));
}

function foreign(file: string, content: string): Problem {
  return {
    code: "FILE_EXISTS",
    message:
      "imgmatch did not write this file, or it was changed since. It stays as it is; imgmatch would write:",
    details: content.trimEnd().split("\n"),
    fix: "add the missing lines by hand, or move the file away",
    at: { file },
  };
}
