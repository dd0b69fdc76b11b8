/** Whether a folder that was staged before still holds a build context, no more and no less. */

import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { contextItems } from "./context-items.ts";
import type { ContextEntry } from "../../dockerfile/context.ts";

/** Reads every file, once for each context and process. `others`: folders in it that count as nothing. */
export async function isWhole(
  folder: string,
  entries: readonly ContextEntry[],
  others: readonly string[] = [],
): Promise<boolean> {
  try {
    const root = await lstat(folder);
    if (!root.isDirectory()) return false;
    const items = contextItems(folder, entries, 0);
    for (const name of others) {
      if (!(await lstat(join(folder, name))).isDirectory()) return false;
    }
    const expected = new Set([...items.map(({ path }) => path), ...others]);
    const folders = ["", ...items.flatMap(({ type, path }) => (type === "folder" ? [path] : []))];
    for (const path of folders) {
      const names = await readdir(join(folder, path));
      if (!names.every((name) => expected.has(path === "" ? name : `${path}/${name}`))) return false;
    }
    for (const { path, type, mode, target, content } of items) {
      const stats = await lstat(join(folder, path));
      if (type === "folder" && !stats.isDirectory()) return false;
      if (type === "link" && (await readlink(join(folder, path))) !== target) return false;
      if (type !== "link" && (stats.mode & 0o777) !== mode) return false;
      if (content !== null) for await (const _ of content());
    }
    return true;
  } catch {
    // Missing, unreadable or another content: it is made anew.
    return false;
  }
}
