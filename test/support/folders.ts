/** Temporary folders of files for tests. */

import { chmodSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

/** Path → text. Modes do not depend on the umask. */
export function makeFolder(files: Readonly<Record<string, string>>, name = "imgmatch-"): string {
  const root = mkdtempSync(join(tmpdir(), name));
  for (const [path, text] of Object.entries(files)) writeIn(root, path, text);
  return root;
}

export function writeIn(root: string, path: string, text: string): void {
  const full = join(root, path);
  mkdirSync(dirname(full), { recursive: true });
  writeFileSync(full, text);
  chmodSync(full, 0o644);
}
