/** Makes a folder and the missing ones above it. Node's `recursive` loops for ever where mkdir says ENOENT in an existing folder, as below /proc. */

import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";

/** Throws the system's error. */
export function makeFolders(path: string, mode = 0o777): void {
  const missing: string[] = [];
  for (let at = path; !existsSync(at); at = dirname(at)) {
    missing.unshift(at);
    if (at === dirname(at)) break;
  }
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode });
    } catch (error) {
      // Another process has made it meanwhile.
      if (!existsSync(folder)) throw error;
    }
  }
}
