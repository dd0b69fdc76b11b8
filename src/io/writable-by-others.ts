/** Whether others can change a file or a folder: what is believed must not be theirs to write. */

import { accessSync, constants, realpathSync, type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ImgmatchError, type ProblemCode } from "../errors.ts";
import { attempt } from "./attempt.ts";
import { isErrno } from "./files.ts";

const writableByOthers = 0o022;
const sticky = 0o1000;

interface UnsafePath {
  readonly path: string;
  readonly why: string;
  /** Whether its mode is the reason, which its owner can change. */
  readonly byMode: boolean;
}

/**
 * The first of these paths, or of the folders above the last, that somebody beside this user and root can change; null where there is
 * none. A sticky folder above, as /tmp, protects what is in it. Systems without users and modes are not asked, and what is mounted
 * read-only nobody changes here: Kubernetes gives the files of a ConfigMap folders that all may write.
 */
export function findWritableByOthers(paths: readonly [...string[], string]): UnsafePath | null {
  const user = process.getuid?.();
  if (user === undefined) return null;
  for (const [path, stats] of existing(paths)) {
    const found = unsafe(path, stats, user);
    if (found !== null) return found;
  }
  const last = paths.at(-1) ?? "/";
  // A link may lead elsewhere: both ways count.
  const ways = [...new Set([last, ...existing([last]).map(([path]) => realpathSync(path))])];
  for (const [path, stats] of existing(ways.flatMap((way) => above(resolve(way))))) {
    const found = stats.mode & sticky ? null : unsafe(path, stats, user);
    if (found !== null) return found;
  }
  return null;
}

/** Throws an error of this code where somebody can. `harm` is what they could do, `fix` what helps where the owner is another. */
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
  // A path that does not exist, or cannot be looked at, is not read either.
  return paths.flatMap((path) => attempt(() => [[path, statSync(path)] as const], []));
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
