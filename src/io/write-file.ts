/** Replaces files in one step, without following links and without a name that somebody could guess. */

import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { ImgmatchError } from "../errors.ts";
import { isThere } from "./files.ts";
import { isLeft, ownedName } from "./owner.ts";
import { hideFromGit, makeFolderFor, projectOf } from "./project-folder.ts";
import { writeFailed } from "./system-error.ts";
import { discard } from "./temporary-folder.ts";

/** The name of a folder for unfinished files, in any folder. It is no input of an image. */
const prefix = ".imgmatch-";
const suffix = ".tmp";

export function isTemporaryName(name: string): boolean {
  return name.startsWith(prefix) && name.endsWith(suffix);
}

/**
 * Replaces a file in one step: a reader sees the old text or the new, even after a power cut. A link in its place is replaced, and not
 * followed. Creates missing folders. Throws `WRITE_FAILED`, and keeps the old file.
 *
 * @param root the project that the file must be in. Default: that of a path in `images/` or `.imgmatch/`, else none
 */
export async function writeFileAtomic(
  path: string,
  text: string | Uint8Array,
  root: string | null = projectOf(path),
): Promise<void> {
  writeFilesAtomic(dirname(path), [{ path, text }], { root, sync: true });
}

/** Writes a file that must not exist. Throws `FILE_EXISTS`. */
export async function writeNewFile(path: string, text: string): Promise<void> {
  if (isThere(path))
    throw new ImgmatchError({
      code: "FILE_EXISTS",
      message: "it is there already",
      fix: "name another file",
      at: { file: path },
    });
  await writeFileAtomic(path, text);
}

interface WriteOptions {
  /** The project that the files must be in; null for a place of the user's own choice. */
  readonly root: string | null;
  /** The files must survive a power cut. */
  readonly sync: boolean;
}

/** Replaces files of one folder. Removes unfinished files that a killed process has left there. */
export function writeFilesAtomic(
  folder: string,
  files: readonly { readonly path: string; readonly text: string | Uint8Array }[],
  { root, sync }: WriteOptions,
): void {
  let current = files[0]?.path ?? folder;
  let temporary: string | null = null;
  try {
    makeFolderFor(join(folder, prefix), root);
    removeLeft(folder);
    temporary = join(folder, `${prefix}${ownedName()}${suffix}`);
    mkdirSync(temporary, { mode: 0o700 });
    hideFromGit(temporary);
    const partial = join(temporary, "partial");
    for (const { path, text } of files) {
      current = path;
      const file = openSync(partial, "wx");
      try {
        writeFileSync(file, text);
        if (sync) fsyncSync(file);
      } finally {
        closeSync(file);
      }
      renameSync(partial, path);
    }
  } catch (error) {
    throw error instanceof ImgmatchError ? error : writeFailed(current, error);
  } finally {
    // If removing fails too, the first failure is thrown.
    if (temporary !== null) discard(temporary);
  }
}

function removeLeft(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (!isTemporaryName(name)) continue;
    const path = join(folder, name);
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats !== undefined && isLeft(name, stats.mtimeMs)) discard(path);
  }
}
