/** The build context: which files are sent, and one digest over them. */

import { createHash } from "node:crypto";
import { readdir, readlink, stat } from "node:fs/promises";
import { join } from "node:path";
import { default as dockerignore } from "@balena/dockerignore";
import { ImgmatchError, type Place } from "../../errors.ts";
import { inputLimits } from "../../io/limits.ts";
import { type Digest, digestOf } from "../../oci/digest.ts";
import { compareText } from "../../oci/text-order.ts";
import { errnoMessage, isErrno, openPlainFile, readTextFile, unreadable } from "../../io/files.ts";

export interface ContextEntry {
  /** Inside the context, with forward slashes. */
  readonly path: string;
  readonly kind: "file" | "symlink" | "folder";
  /** 0o755 or 0o644: only the owner's executable bit counts, as in git, so that a umask changes nothing. */
  readonly mode: number;
  /** sha256 of a file's content, or a link's target; empty for a folder. */
  readonly content: string;
  /** Bytes of a file, as many as were hashed; 0 for what is none. No input of its own: the content decides. */
  readonly size: number;
}

export interface BuildContext {
  /** Sorted by path. */
  readonly entries: readonly ContextEntry[];
  readonly digest: Digest;
}

/**
 * Reads a build context less what `ignoreFiles` hide and less the paths of `isOwn`. A missing folder, and a file
 * that vanishes or cannot be read while it is hashed, are errors and never skipped.
 *
 * @param ignoreFiles the first of them that is there counts, alone. Default: the context's `.dockerignore`
 * @param isOwn what imgmatch itself reads and writes: no image is made of it, so it must not change what an image is
 */
export async function readContext(
  folder: string,
  at: Place,
  isOwn: Filter["isOwn"] = () => false,
  ignoreFiles: readonly string[] = [join(folder, ".dockerignore")],
): Promise<BuildContext> {
  await requireFolder(folder, at);
  const keep = dockerignore
    .default()
    .add((await readIgnoreFile(ignoreFiles)).split("\n"))
    .createFilter();
  const entries: ContextEntry[] = [];
  try {
    await walk(folder, "", { isOwn, keep }, entries);
  } catch (error) {
    if (error instanceof ImgmatchError) throw error;
    throw unreadable(folder, error, { what: "the build context", fix: hide });
  }
  entries.sort((one, other) => compareText(one.path, other.path));
  return { entries, digest: digestOf(describeContext(entries)) };
}

/** What the digest of a context is taken of: one line of JSON. */
export function describeContext(entries: readonly ContextEntry[]): string {
  return JSON.stringify(entries.map(({ path, kind, mode, content }) => [path, kind, mode, content]));
}

const hide = "correct its permissions, or hide it with .dockerignore";

async function requireFolder(folder: string, at: Place): Promise<void> {
  const found = await stat(folder).catch((error: unknown) => {
    if (isErrno(error, "ENOENT") || isErrno(error, "ENOTDIR")) return null;
    throw new ImgmatchError({ code: "FILE_UNREADABLE", message: errnoMessage(error), at }, { cause: error });
  });
  if (found?.isDirectory()) return;
  throw new ImgmatchError({
    code: "CONTEXT_NOT_FOUND",
    message: found === null ? "the build context does not exist" : "the build context is not a folder",
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

/** Answers whether the folder counts: one that holds nothing but imgmatch's own files comes and goes with them. */
async function walk(
  folder: string,
  prefix: string,
  filter: Filter,
  entries: ContextEntry[],
): Promise<boolean> {
  const items = await readdir(join(folder, prefix), { withFileTypes: true });
  let others = 0;
  for (const item of items) {
    const path = prefix === "" ? item.name : `${prefix}/${item.name}`;
    if (await filter.isOwn(path)) continue;
    const full = join(folder, path);
    if (item.isDirectory()) {
      // A hidden folder may still hold files that a later `!` line shows again, so it is walked all the same.
      const counts = await walk(folder, path, filter, entries);
      if (counts) others++;
      if (counts && filter.keep(path)) entries.push(folderEntry(path));
      continue;
    }
    others++;
    if (filter.keep(path)) {
      if (item.isSymbolicLink())
        entries.push({ path, kind: "symlink", mode: 0o777, content: await readlink(full), size: 0 });
      else if (item.isFile()) entries.push({ path, kind: "file", ...(await hashFile(full)) });
    }
  }
  return items.length === 0 || others > 0;
}

export function folderEntry(path: string): ContextEntry {
  return { path, kind: "folder", mode: 0o755, content: "", size: 0 };
}

/** Mode, size and content of one and the same file, also when another takes its place meanwhile. */
async function hashFile(full: string): Promise<Pick<ContextEntry, "mode" | "content" | "size">> {
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
      return { mode: (mode & 0o100) === 0 ? 0o644 : 0o755, content: hash.digest("hex"), size };
    } finally {
      await file.close();
    }
  } catch (error) {
    throw unreadable(full, error, { fix: hide });
  }
}
