/** Makes folders. Node's own `recursive` goes on for ever where the system says ENOENT of a folder that is there, as below /proc. */

import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";

/** The folder and what is missing above it. Throws the system's error. */
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

/** A file in its place is left for `mkdir` or whoever writes below it to complain about. */
function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}
