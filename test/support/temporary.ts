/** One temporary folder for all that a run of the tests leaves, removed at its end. */

import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

// Short: a path of a socket has at most 107 bytes.
const prefix = "im-";

/** Every process of the run makes its folders in it. */
export function keepTogether(): void {
  // The configuration is read once for each project, and a test may start a run of its own.
  if (basename(tmpdir()).startsWith(prefix)) return;
  const folder = mkdtempSync(join(tmpdir(), prefix));
  // Some tests are other users.
  chmodSync(folder, 0o1777);
  process.env.TMPDIR = folder;
  process.on("exit", () => {
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch (error) {
      // A run that somebody ended may leave an engine, with its mounts.
      console.error(`${folder} stays: ${String(error)}`);
    }
  });
}
