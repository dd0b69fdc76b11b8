/** Lists and hashes a build context, with the same result on every machine. */

import { createHash } from "node:crypto";
import { lstat, readdir, readlink, stat } from "node:fs/promises";
import { join, posix } from "node:path";
import { default as dockerignore } from "@balena/dockerignore";
import { faultOf, ImgmatchError, type Place } from "../../errors.ts";
import { isErrno, readTextFile, unreadable } from "../../io/files.ts";
import { openPlainFile } from "../../io/plain-file.ts";
import { inputLimits } from "../../io/limits.ts";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { compareText, once, remember } from "../../io/collections.ts";
import { type IndexModes, indexModes } from "../../io/git.ts";
import { atOnce } from "./at-once.ts";

export interface ContextEntry {
  /** Inside the context, with forward slashes. */
  readonly path: string;
  readonly kind: "file" | "symlink" | "folder";
  /** 0o755 or 0o644, as in git, so that a umask changes nothing: the mode of git's index, else the owner's executable bit. */
  readonly mode: number;
  /** sha256 of a file's content, or a link's target; empty for a folder. */
  readonly content: string;
  /** Hashed bytes of a file; 0 for anything else. No part of the context's digest. */
  readonly size: number;
  /** The permission bits on the disk; absent for links, and where the disk keeps none. No part of the context's digest. */
  readonly bits?: number;
  /** The same of the folder that holds it. */
  readonly folderBits?: number;
}

export interface BuildContext {
  /** Sorted by path. */
  readonly entries: readonly ContextEntry[];
  readonly digest: Digest;
}

/** The entries of a build context, whose files are not read yet. */
export interface ContextListing {
  /** Sorted by path. */
  readonly entries: readonly ListedEntry[];
  /** Hashes these entries, or all; each file once. Throws `FILE_UNREADABLE`. */
  read(paths?: ReadonlySet<string>): Promise<BuildContext>;
}

export interface ListedEntry extends Pick<ContextEntry, "path" | "kind"> {
  /** The target of a link; empty for other entries. */
  readonly target: string;
}

/**
 * Lists a build context, without the paths that an ignore file hides. A missing folder and an unreadable file are errors and never skipped.
 *
 * @param isOwn tells the files that imgmatch itself reads and writes: they are no part of an image
 * @param ignoreFiles the first one that exists counts. Default: the context's `.dockerignore`
 */
export async function listContext(
  folder: string,
  at: Place,
  isOwn: Filter["isOwn"] = () => false,
  ignoreFiles: readonly string[] = [join(folder, ".dockerignore")],
): Promise<ContextListing> {
  await requireFolder(folder, at);
  const keep = ignoring((await readIgnoreFile(ignoreFiles)).split("\n"));
  const entries: ListedEntry[] = [];
  await reading(folder, () => walk(folder, "", { isOwn, keep }, entries));
  entries.sort((one, other) => compareText(one.path, other.path));
  const known = new Map<string, Promise<ContextEntry>>();
  const readModes = once(() => indexModes(folder));
  const folders = new Map<string, Promise<number>>();
  const folderBits = (path: string) =>
    remember(folders, path, async () => (await stat(join(folder, path))).mode & 0o7777);
  const read = async (paths?: ReadonlySet<string>): Promise<BuildContext> => {
    const taken = entries.filter(({ path }) => paths?.has(path) ?? true);
    const chosen = await reading(folder, async () => {
      const modes = await readModes();
      const readOne = async (listed: ListedEntry): Promise<ContextEntry> => {
        const { bits, ...entry } = await readEntry(folder, listed, modes.modes, folderBits);
        if (bits === undefined || !modes.keepsBits) return entry;
        return { ...entry, bits, folderBits: await folderBits(posix.dirname(listed.path)) };
      };
      return atOnce(taken, (listed) => remember(known, listed.path, () => readOne(listed)));
    });
    return { entries: chosen, digest: digestOf(describeContext(chosen)) };
  };
  return { entries, read };
}

async function reading<T>(folder: string, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ImgmatchError) throw error;
    throw unreadable(folder, error, { what: "the build context", fix: hide });
  }
}

/**
 * A filter that keeps the paths that no line of an ignore file hides. The library needs two hints: names of files have a case, and characters
 * of regular expressions mean themselves in a pattern (moby/patternmatcher, `escapeBytes`).
 */
function ignoring(lines: readonly string[]): (path: string) => boolean {
  const literal = (line: string) => line.replace(/\\?[+()|{}]/g, (found) => `\\${found.slice(-1)}`);
  return dockerignore.default({ ignorecase: false }).add(lines.map(literal)).createFilter();
}

/** The text that a context's digest is the digest of: one line of JSON. */
export function describeContext(entries: readonly ContextEntry[]): string {
  return JSON.stringify(entries.map(({ path, kind, mode, content }) => [path, kind, mode, content]));
}

const hide = "correct its permissions, or hide it with .dockerignore";

async function requireFolder(folder: string, at: Place): Promise<void> {
  const found = await stat(folder).catch((error: unknown) => {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return null;
    throw new ImgmatchError({ code: "FILE_UNREADABLE", message: faultOf(error), at }, { cause: error });
  });
  if (found?.isDirectory()) return;
  throw new ImgmatchError({
    code: "CONTEXT_NOT_FOUND",
    message: `the build context ${folder} ${found === null ? "does not exist" : "is no folder"}`,
    fix: "create it, or correct context: in the matrix",
    at,
  });
}

async function readIgnoreFile([path, ...others]: readonly string[]): Promise<string> {
  if (path === undefined) return "";
  try {
    return await readTextFile(path, inputLimits.ignoreFile);
  } catch (error) {
    if (error instanceof ImgmatchError && error.code === "FILE_NOT_FOUND") return readIgnoreFile(others);
    throw error;
  }
}

interface Filter {
  readonly isOwn: (path: string) => boolean | Promise<boolean>;
  readonly keep: (path: string) => boolean;
}

/** Answers false for a folder that holds nothing but imgmatch's own files: it comes and goes with them. */
async function walk(
  folder: string,
  prefix: string,
  filter: Filter,
  entries: ListedEntry[],
): Promise<boolean> {
  const items = await readdir(join(folder, prefix), { withFileTypes: true });
  let others = 0;
  for (const item of items) {
    const path = prefix === "" ? item.name : `${prefix}/${item.name}`;
    if (await filter.isOwn(path)) continue;
    if (item.name.includes("\uFFFD") && (await isNoText(join(folder, path)))) {
      // A hidden folder of such a name cannot be read for what shows its files again.
      if (filter.keep(path)) throw noText(path);
      continue;
    }
    if (item.isDirectory()) {
      // A later `!` line may show files of a hidden folder again, so it is walked too.
      const counts = await walk(folder, path, filter, entries);
      if (counts) others++;
      if (counts && filter.keep(path)) entries.push({ path, kind: "folder", target: "" });
      continue;
    }
    others++;
    if (filter.keep(path)) {
      if (item.isSymbolicLink())
        entries.push({ path, kind: "symlink", target: await readlink(join(folder, path)) });
      else if (item.isFile()) entries.push({ path, kind: "file", target: "" });
    }
  }
  return items.length === 0 || others > 0;
}

/** True for a name that is not UTF-8: Node.js has put U+FFFD in place of what it could not read. */
async function isNoText(full: string): Promise<boolean> {
  return lstat(full).then(
    () => false,
    (error: unknown) => isErrno(error, "ENOENT"),
  );
}

function noText(path: string): ImgmatchError {
  return new ImgmatchError({
    code: "FILE_UNREADABLE",
    message:
      "its name is not UTF-8: no build by BuildKit can send the file, and imgmatch sends the same files with every engine",
    fix: "rename the file (ls -b shows the bytes of its name), or hide it with * in .dockerignore",
    at: { file: path },
  });
}

async function readEntry(
  folder: string,
  { path, kind, target }: ListedEntry,
  modes: IndexModes["modes"],
  folderBits: (path: string) => Promise<number>,
): Promise<ContextEntry> {
  switch (kind) {
    case "folder":
      return { ...folderEntry(path), bits: await folderBits(path) };
    case "symlink":
      return { path, kind, mode: 0o777, content: target, size: 0 };
    case "file": {
      const { bits, ...hashed } = await hashFile(join(folder, path));
      const mode = modes.get(path) ?? ((bits & 0o100) === 0 ? 0o644 : 0o755);
      return { path, kind, mode, ...hashed, bits };
    }
  }
}

export function folderEntry(path: string): ContextEntry {
  return { path, kind: "folder", mode: 0o755, content: "", size: 0 };
}

/** Takes bits, size and content from one open file: they agree even if the path gets another file meanwhile. */
export async function hashFile(
  full: string,
): Promise<Pick<Required<ContextEntry>, "bits" | "content" | "size">> {
  const hash = createHash("sha256");
  let size = 0;
  try {
    const file = await openPlainFile(full);
    try {
      const { mode } = await file.stat();
      const buffer = Buffer.allocUnsafe(256 * 1024);
      for (;;) {
        const { bytesRead } = await file.read(buffer);
        if (bytesRead === 0) break;
        size += bytesRead;
        hash.update(buffer.subarray(0, bytesRead));
      }
      return { bits: mode & 0o7777, content: hash.digest("hex"), size };
    } finally {
      await file.close();
    }
  } catch (error) {
    throw unreadable(full, error, { fix: hide });
  }
}
