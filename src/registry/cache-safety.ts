/**
 * Whether others can write a cache: an answer from there is believed where the registry cannot be asked, so whoever writes it
 * chooses what runs.
 */

import { realpathSync, type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { ImgmatchError } from "../errors.ts";
import { attempt } from "../io/attempt.ts";

const writableByOthers = 0o022;
const sticky = 0o1000;

/**
 * Throws `CACHE_UNSAFE` when somebody beside this user and root can change the folder, one of its files that are named, or a
 * folder above. A sticky folder above, as /tmp, protects what is in it. Systems without users and modes are not asked.
 */
export function requireSafeCache(folder: string, files: readonly string[]): void {
  const user = process.getuid?.();
  if (user === undefined) return;
  for (const [path, stats] of [...existing(files), ...existing([folder])]) {
    const why = unsafe(stats, user);
    if (why !== null) throw refused(path, why, stats);
  }
  // A link may lead elsewhere: both ways count.
  const ways = [...new Set([folder, ...existing([folder]).map(([path]) => realpathSync(path))])];
  for (const [path, stats] of existing(ways.flatMap((way) => above(resolve(way))))) {
    const why = stats.mode & sticky ? null : unsafe(stats, user);
    if (why !== null) throw refused(path, why, stats);
  }
}

function above(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...above(parent)];
}

function existing(paths: readonly string[]): (readonly [string, Stats])[] {
  // What is not there, or cannot be looked at, is not read either.
  return paths.flatMap((path) => attempt(() => [[path, statSync(path)] as const], []));
}

function unsafe({ uid, mode }: Stats, user: number): string | null {
  if (uid !== user && uid !== 0) return `belongs to user ${uid}, and imgmatch runs as user ${user}`;
  return mode & writableByOthers ? `may be written by others (mode ${(mode & 0o7777).toString(8)})` : null;
}

function refused(path: string, why: string, { mode }: Stats): ImgmatchError {
  return new ImgmatchError({
    code: "CACHE_UNSAFE",
    message: `${why}: who writes the cache chooses the image`,
    fix:
      mode & writableByOthers
        ? `chmod go-w ${path}, or name another folder with --cache`
        : "name a folder of your own with --cache",
    at: { file: path },
  });
}
