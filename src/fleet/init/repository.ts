/** The border of a repository: anybody may have written a definition, and a definition names files to read. */

import { existsSync, realpathSync } from "node:fs";
import { dirname, isAbsolute, join, relative, resolve } from "node:path";
import { attempt } from "../../io/attempt.ts";

/** The nearest folder above with git's own, and else the folder itself. */
export function repositoryOf(folder: string): string {
  const own = resolve(folder);
  for (let at = own; ; at = dirname(at)) {
    if (existsSync(join(at, ".git"))) return at;
    if (dirname(at) === at) return own;
  }
}

/** True for a path that leads out of a folder, through links too. A file that is not there leads where its path says. */
export function leadsOut(folder: string, path: string): boolean {
  const real = (each: string) => attempt(() => realpathSync(each), resolve(each));
  const found = relative(real(folder), real(path));
  return /^\.\.($|[\\/])/.test(found) || isAbsolute(found);
}
