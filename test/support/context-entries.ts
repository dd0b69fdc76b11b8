/** Build contexts for tests: read from a folder, or named path by path. */

import { createHash } from "node:crypto";
import { lstatSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import {
  type BuildContext,
  type ContextEntry,
  folderEntry,
  listContext,
} from "../../src/fleet/context/context.ts";

export async function readContext(...context: Parameters<typeof listContext>): Promise<BuildContext> {
  return (await listContext(...context)).read();
}

/** The same entries as `readContext`, for these paths alone. */
export function contextEntries(folder: string, paths: readonly string[]): readonly ContextEntry[] {
  return paths.map((path): ContextEntry => {
    const full = join(folder, path);
    const stats = lstatSync(full);
    if (stats.isDirectory()) return folderEntry(path);
    if (stats.isSymbolicLink())
      return { path, kind: "symlink", mode: 0o777, content: readlinkSync(full), size: 0 };
    const bytes = readFileSync(full);
    const content = createHash("sha256").update(bytes).digest("hex");
    return { path, kind: "file", mode: stats.mode & 0o100 ? 0o755 : 0o644, content, size: bytes.length };
  });
}
