/** The files of a build context in one order, with what an engine is told of each: the same on every machine. */

import { constants } from "node:fs";
import { copyFile, lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { ImgmatchError, InternalError } from "../../errors.ts";
import { remember } from "../../io/collections.ts";
import { type ContextEntry, folderEntry, hashFile } from "../context/context.ts";
import { isErrno, unreadable } from "../../io/files.ts";
import { openPlainFile } from "../../io/plain-file.ts";

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
  /** null for what is no file. */
  readonly file: ItemFile | null;
}

export interface ItemFile {
  /** Makes a new file of it. Throws `CONTEXT_CHANGED`. */
  copyTo(to: string): Promise<void>;
  /** Throws `CONTEXT_CHANGED`, or another error of this file, where the file is not what was hashed. */
  compare(): Promise<void>;
}

/** All cells of a fleet have one context, which is put in order once. */
const known = new WeakMap<readonly ContextEntry[], readonly ContextEntry[]>();

/**
 * The entries and all folders above, each folder directly before its contents, as they were hashed: nothing but the content of
 * files is read from the disk again, and that is compared.
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
  const common = { path, mtime, mode, size, file: null };
  switch (entry.kind) {
    case "folder":
      return { ...common, type: "folder" };
    case "symlink":
      return { ...common, type: "link", target: entry.content.replaceAll("\\", "/") };
    case "file":
      return {
        ...common,
        type: "file",
        file: {
          copyTo: (to) => copyHashed(contextDir, entry, to),
          compare: () => requireSame(join(contextDir, path), entry),
        },
      };
  }
}

/** A folder comes before its contents, and the contents before the folder's neighbours: `/` sorts before any other byte. */
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
    for (const { path, type, mode, target, file } of items) {
      const stats = await lstat(join(folder, path));
      if (type === "folder" && !stats.isDirectory()) return false;
      if (type === "link" && (await readlink(join(folder, path))) !== target) return false;
      if (type !== "link" && (stats.mode & 0o777) !== mode) return false;
      await file?.compare();
    }
    return true;
  } catch {
    // Missing, unreadable or another content: it is made anew.
    return false;
  }
}

/**
 * Copies a file into a new one, and compares the copy with the hash: what the file becomes afterwards changes nothing. The system copies, by
 * sharing the blocks where it can. Throws `CONTEXT_CHANGED`, `FILE_UNREADABLE`, and the system's error where the copy cannot be written.
 */
async function copyHashed(contextDir: string, entry: ContextEntry, to: string): Promise<void> {
  const { path } = entry;
  const from = join(contextDir, path);
  const file = await openPlainFile(from).catch((error: unknown) => {
    throw unopenable(path, error);
  });
  try {
    const { size } = await file.stat();
    if (size !== entry.size) throw contextChanged(path, sizes(entry.size, size));
    await copyFile(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE).catch((error: unknown) => {
      throw isErrno(error, "ENOENT", "ENOTDIR", "EISDIR") ? unopenable(path, error) : error;
    });
  } finally {
    await file.close();
  }
  await requireSame(to, entry);
}

async function requireSame(full: string, entry: ContextEntry): Promise<void> {
  const { size, content } = await hashFile(full);
  if (size !== entry.size) throw contextChanged(entry.path, sizes(entry.size, size));
  if (content !== entry.content) throw contextChanged(entry.path, "its content is another one");
}

function sizes(before: number, now: number): string {
  return `it had ${before} bytes and has ${now}`;
}

function unopenable(path: string, error: unknown): ImgmatchError {
  if (isErrno(error, "ENOENT", "ENOTDIR")) return contextChanged(path, "it is gone", error);
  if (isErrno(error, "ELOOP")) return contextChanged(path, "a symbolic link has taken its place", error);
  if (isErrno(error, "EFTYPE", "EISDIR", "ENXIO"))
    return contextChanged(path, "it is no plain file any more", error);
  return unreadable(path, error);
}

/** The error for a build context that differs from the one of the input digest. */
function contextChanged(path: string, how: string, cause?: unknown): ImgmatchError {
  return new ImgmatchError(
    {
      code: "CONTEXT_CHANGED",
      message: `has changed since the build began: ${how}`,
      fix: "build again when nothing writes to the build context",
      at: { file: path },
    },
    { cause },
  );
}
