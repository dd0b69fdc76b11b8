/** The rendered Dockerfiles on disk: many small files, so read and written without a round trip for each. */

import { readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ImgmatchError } from "../errors.ts";
import { errnoMessage, isErrno } from "./files.ts";
import { makeFolders } from "./folders.ts";

const folder = "images";
const suffix = ".Dockerfile";

/** Path relative to `root` → text of every Dockerfile in `images/`, with `\n` line ends; empty without such a folder. */
export function readDockerfiles(root: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const name of list(join(root, folder))) {
    const path = `${folder}/${name}`;
    try {
      files.set(path, readFileSync(join(root, path), "utf8").replaceAll("\r\n", "\n"));
    } catch (error) {
      const message = `cannot be read: ${errnoMessage(error)}`;
      throw new ImgmatchError({ code: "FILE_UNREADABLE", message, at: { file: path } }, { cause: error });
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
    const message = `cannot be read: ${errnoMessage(error)}`;
    throw new ImgmatchError({ code: "FILE_UNREADABLE", message, at: { file: path } }, { cause: error });
  }
}

/** Replaces each file in one step. They can be rendered again, so a power cut may cost them. Throws `WRITE_FAILED`. */
export function writeDockerfiles(
  root: string,
  files: readonly { readonly path: string; readonly text: string }[],
): void {
  const temporary = join(root, folder, `.${process.pid}.tmp`);
  let hasFolder = false;
  for (const { path, text } of files) {
    try {
      if (!hasFolder) makeFolders(join(root, folder));
      hasFolder = true;
      writeFileSync(temporary, text);
      renameSync(temporary, join(root, path));
    } catch (error) {
      rmSync(temporary, { force: true });
      const message = `cannot be written: ${errnoMessage(error)}`;
      const fix = "free some space or correct the permissions, and render again";
      throw new ImgmatchError({ code: "WRITE_FAILED", message, fix, at: { file: path } }, { cause: error });
    }
  }
}

export function removeDockerfiles(root: string, paths: readonly string[]): void {
  for (const path of paths) rmSync(join(root, path));
}
