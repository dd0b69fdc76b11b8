/** Makes folders inside a project. A checkout comes from somebody else: its links must not lead a write out of it. */

import { lstatSync, mkdirSync, realpathSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { ImgmatchError } from "../errors.ts";
import { isErrno } from "./files.ts";
import { makeFolders } from "./folders.ts";
import { writeFailed } from "./system-error.ts";

/** imgmatch's folder in a project, hidden from git. */
const ownFolder = ".imgmatch";

/** Makes a folder and those above it. Throws `WRITE_FAILED` before a link below `root` leads out of it. */
export function makeProjectFolder(root: string, folder: string): void {
  const parts = relative(resolve(root), resolve(folder)).split(sep).filter(Boolean);
  try {
    makeFolders(root);
    const real = realpathSync(root);
    let path = root;
    for (const part of parts) {
      path = join(path, part);
      if (lstatSync(path, { throwIfNoEntry: false }) === undefined) mkdirSync(path);
      requireInside(real, path);
      if (part === ownFolder) hideFromGit(path);
    }
  } catch (error) {
    throw error instanceof ImgmatchError ? error : writeFailed(folder, error);
  }
}

/** The project of a path in `.imgmatch/` or `images/`; null for any other path, which the user has chosen. */
export function projectOf(path: string): string | null {
  const parts = resolve(path).split(sep);
  const own = parts.lastIndexOf(ownFolder);
  if (own > 0) return parts.slice(0, own).join(sep) || sep;
  return parts.at(-2) === "images" ? parts.slice(0, -2).join(sep) || sep : null;
}

/** Makes the folder of a file: in a project by {@link makeProjectFolder}, elsewhere as the user has named it. */
export function makeFolderFor(path: string, root: string | null = projectOf(path)): void {
  if (root === null) makeFolders(dirname(path));
  else makeProjectFolder(root, dirname(path));
}

/** True if a path is in a folder, or is the folder, after links are followed. Both must exist. */
export function liesIn(folder: string, path: string): boolean {
  const root = realpathSync(folder);
  const real = realpathSync(path);
  return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep);
}

function requireInside(root: string, path: string): void {
  if (liesIn(root, path)) return;
  const real = realpathSync(path);
  throw new ImgmatchError({
    code: "WRITE_FAILED",
    message: `a symbolic link leads out of the project, to ${real}: nothing is written there`,
    fix: "remove the link, or put a folder in its place",
    at: { file: path },
  });
}

/** Files that a killed process leaves in the folder are hidden too. */
export function hideFromGit(folder: string): void {
  try {
    writeFileSync(join(folder, ".gitignore"), "*\n", { flag: "wx" });
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error;
  }
}
