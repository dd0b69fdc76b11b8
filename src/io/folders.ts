/** Makes a folder and the missing ones above it. Node's `recursive` loops for ever where mkdir says ENOENT in an existing folder, as below /proc. */

import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** Throws the system's error. */
export function makeFolders(path: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let at = path; !isThere(at); at = dirname(at)) {
    missing.unshift(at);
    if (at === dirname(at)) break;
  }
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode });
    } catch (error) {
      // Another process has made it meanwhile.
      if (!isThere(folder)) throw error;
    }
  }
}

/** Also true for a file: the next call below it fails. Unlike `existsSync`, throws where the system cannot tell, as in a loop of links. */
function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
