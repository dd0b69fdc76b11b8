/** Finds files and folders that others can change: imgmatch must not trust those. */

import { accessSync, constants, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ImgmatchError } from "../errors.ts";
import type { ProblemCode } from "../problem-codes.ts";
import { isErrno, unreadable } from "./files.ts";

const writableByOthers = 0o022;
const sticky = 0o1000;

interface UnsafePath {
  readonly path: string;
  readonly why: string;
  /** True if its mode is the reason, which the owner can change. */
  readonly byMode: boolean;
}

/**
 * The first path that somebody besides this user and root can change, among the paths and the folders above the last path; null if there is
 * none. A sticky folder above, such as /tmp, is safe. So is a read-only mount: Kubernetes mounts a ConfigMap with folders that all may write.
 * Systems without users and modes answer null.
 */
export function findWritableByOthers(paths: readonly [...string[], string]): UnsafePath | null {
  const user = process.getuid?.();
  if (user === undefined) return null;
  for (const [path, stats] of existing(paths)) {
    const found = unsafe(path, stats, user);
    if (found !== null) return found;
  }
  const last = paths.at(-1) ?? "/";
  // A link may lead elsewhere: the folders above it and above its target count.
  const ways = [...new Set([last, ...existing([last]).map(([path]) => realpathSync(path))])];
  for (const [path, stats] of existing(ways.flatMap((way) => above(resolve(way))))) {
    const found = stats.mode & sticky ? null : unsafe(path, stats, user);
    if (found !== null) return found;
  }
  return null;
}

/** Throws an error of this code for such a path. `harm` is the consequence; `fix` is for a path with another owner. */
export function requireOwn(
  paths: readonly [...string[], string],
  code: ProblemCode,
  harm: string,
  { fix, orElse = "" }: { readonly fix: (path: string) => string; readonly orElse?: string },
): void {
  const found = findWritableByOthers(paths);
  if (found === null) return;
  const { path, why, byMode } = found;
  throw new ImgmatchError({
    code,
    message: `${why}: anybody who can write ${harm}`,
    fix: byMode ? `chmod go-w ${path}${orElse}` : fix(path),
    at: { file: path },
  });
}

function above(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...above(parent)];
}

function existing(paths: readonly string[]): (readonly [string, Stats])[] {
  return paths.flatMap((path) => {
    try {
      return [[path, statSync(path)] as const];
    } catch (error) {
      // Nobody reads a path that does not exist or is not accessible. What else fails tells nothing of the path.
      if (isErrno(error, "ENOENT", "ENOTDIR", "ELOOP", "EACCES")) return [];
      throw unreadable(path, error);
    }
  });
}

function unsafe(path: string, { uid, mode }: Stats, user: number): UnsafePath | null {
  const byMode = (mode & writableByOthers) !== 0;
  const isForeign = uid !== user && uid !== 0;
  if ((!byMode && !isForeign) || isReadOnly(path)) return null;
  const why = isForeign
    ? `belongs to user ${uid}, and imgmatch runs as user ${user}`
    : `may be written by others (mode ${(mode & 0o7777).toString(8)})`;
  return { path, why, byMode };
}

function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return isErrno(error, "EROFS");
  }
}
