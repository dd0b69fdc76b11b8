/** Reads, writes and removes rendered Dockerfiles. They are many and small, so synchronous calls are faster. */

import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { inputLimits } from "../../io/limits.ts";
import { isErrno, readBounded, unreadable } from "../../io/files.ts";
import { makeProjectFolder } from "../../io/project-folder.ts";
import { writeFilesAtomic } from "../../io/write-file.ts";
import { lockPath } from "../../lock/lock.ts";

const folder = "images";
const suffix = ".Dockerfile";

/** True for the lock and rendered Dockerfiles: a build must not make the checkout dirty, and so change the next version. */
export function isWritten(path: string): boolean {
  return path === lockPath || /^images\/[^/]+\.Dockerfile$/.test(path);
}

/** Maps the path of every Dockerfile in `images/`, relative to `root`, to its text with `\n` line ends. Empty without that folder. */
export function readDockerfiles(root: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const name of list(join(root, folder))) {
    const path = `${folder}/${name}`;
    try {
      const bytes = readBounded(join(root, path), inputLimits.dockerfile, path);
      files.set(path, bytes.toString("utf8").replaceAll("\r\n", "\n"));
    } catch (error) {
      if (error instanceof ImgmatchError) throw error;
      throw unreadable(path, error);
    }
  }
  return files;
}

function list(path: string): string[] {
  try {
    return readdirSync(path)
      .filter((name) => name.endsWith(suffix))
      .sort();
  } catch (error) {
    if (isErrno(error, "ENOENT")) return [];
    throw unreadable(path, error);
  }
}

/** Replaces each file in one step. A power cut may lose them, as they can be rendered again. Throws `WRITE_FAILED`. */
export function writeDockerfiles(
  root: string,
  files: readonly { readonly path: string; readonly text: string }[],
): void {
  if (files.length === 0) return;
  const placed = files.map(({ path, text }) => ({ path: join(root, path), text }));
  writeFilesAtomic(join(root, folder), placed, { root, sync: false });
}

export function removeDockerfiles(root: string, paths: readonly string[]): void {
  if (paths.length === 0) return;
  // Throws if a link leads out of the project: files there must not be removed.
  makeProjectFolder(root, join(root, folder));
  for (const path of paths) rmSync(join(root, path));
}
