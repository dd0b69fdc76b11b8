/** The files of a build context in one order, with what an engine is told of each: the same on every machine. */

import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { InternalError } from "../../errors.ts";
import { remember } from "../../io/collections.ts";
import { type ContextEntry, folderEntry } from "../context/context.ts";
import { readHashedFile } from "../context/hashed-file.ts";

export interface ContextItem {
  /** Inside the context, with forward slashes. */
  readonly path: string;
  readonly type: "file" | "folder" | "link";
  readonly mode: number;
  /** Bytes; 0 for what is no file. */
  readonly size: number;
  readonly mtime: number;
  /** Only for a link. */
  readonly target?: string;
  /** Reads a file; null for what is no file. Throws `CONTEXT_CHANGED`. */
  readonly content: (() => AsyncIterable<Uint8Array>) | null;
}

/** All cells of a fleet have one context, which is put in order once. */
const known = new WeakMap<readonly ContextEntry[], readonly ContextEntry[]>();

/**
 * The entries and all folders above them, each directly before what it holds, as they were when they were hashed: nothing but
 * the content of files is read from the disk again, and that is compared.
 *
 * @param mtime seconds since 1970 for every entry
 */
export function contextItems(
  contextDir: string,
  entries: readonly ContextEntry[],
  mtime: number,
): readonly ContextItem[] {
  const ordered = remember(known, entries, () => withFolders(entries));
  return ordered.map((entry) => itemOf(contextDir, entry, mtime));
}

function itemOf(contextDir: string, entry: ContextEntry, mtime: number): ContextItem {
  const { path, mode, size } = entry;
  const common = { path, mtime, mode, size, content: null };
  switch (entry.kind) {
    case "folder":
      return { ...common, type: "folder" };
    case "symlink":
      return { ...common, type: "link", target: entry.content.replaceAll("\\", "/") };
    case "file":
      return { ...common, type: "file", content: () => readHashedFile(contextDir, entry) };
  }
}

/** A folder comes before what it holds, and what it holds before its neighbours: `/` sorts before any other byte. */
function withFolders(entries: readonly ContextEntry[]): ContextEntry[] {
  const all = new Map(entries.map((entry) => [entry.path, entry]));
  for (const { path } of entries) {
    const parts = path.split("/");
    if (parts.some((part) => part === "" || part === "." || part === "..")) {
      throw new InternalError(`not a normal path inside the context: ${JSON.stringify(path)}`);
    }
    for (let count = 1; count < parts.length; count++) {
      const above = parts.slice(0, count).join("/");
      if (!all.has(above)) all.set(above, folderEntry(above));
    }
  }
  const key = (path: string) => Buffer.from(path.replaceAll("/", "\0"));
  return [...all.values()]
    .map((entry) => ({ entry, key: key(entry.path) }))
    .sort((one, other) => Buffer.compare(one.key, other.key))
    .map(({ entry }) => entry);
}

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
