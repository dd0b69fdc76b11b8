/** The rendered Dockerfiles on disk: many small files, so read and written without a round trip for each. */

import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { ImgmatchError } from "../../errors.ts";
import { inputLimits } from "../../io/limits.ts";
import { isErrno, readBounded, unreadable } from "../../io/files.ts";
import { makeProjectFolder } from "../../io/project-folder.ts";
import { writeFilesAtomic } from "../../io/write-file.ts";

const folder = "images";
const suffix = ".Dockerfile";

/** Path relative to `root` → text of every Dockerfile in `images/`, with `\n` line ends; empty without such a folder. */
export function readDockerfiles(root: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const name of list(join(root, folder))) {
    const path = `${folder}/${name}`;
    try {
      files.set(
        path,
        readBounded(join(root, path), inputLimits.dockerfile, path).toString("utf8").replaceAll("\r\n", "\n"),
      );
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

/** Replaces each file in one step. They can be rendered again, so a power cut may cost them. Throws `WRITE_FAILED`. */
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
  // The folder must be the project's own: what a link leads to is nobody's to remove.
  makeProjectFolder(root, join(root, folder));
  for (const path of paths) rmSync(join(root, path));
}
