/** The files of a build context with what an engine is told of each: the same on every machine. */

import { constants } from "node:fs";
import { lstat, readlink } from "node:fs/promises";
import { join } from "node:path";
import { ImgmatchError, InternalError } from "../errors.ts";
import { errnoMessage, isErrno } from "../io/files.ts";

export interface ContextItem {
  /** Inside the context, with forward slashes. */
  readonly path: string;
  readonly type: "file" | "folder" | "link";
  readonly mode: number;
  /** Bytes; 0 for what is no file. */
  readonly size: number;
  /** Seconds since 1970. */
  readonly mtime: number;
  /** Only for a link. */
  readonly target?: string;
  /** A file's bytes, or the path where they are read; null for what is no file. */
  readonly content: Uint8Array | string | null;
}

/**
 * The paths and all folders above them, each directly before what it holds. Modes are 755 for what its owner may execute
 * and for folders, else 644: the umask of a checkout is no part of an image. Symbolic links stay links.
 * Throws `CONTEXT_NOT_FOUND` for a missing file.
 *
 * @param mtime seconds since 1970 for every entry
 */
export async function readContextItems(
  contextDir: string,
  paths: readonly string[],
  mtime: number,
): Promise<readonly ContextItem[]> {
  const items: ContextItem[] = [];
  for (const path of withFolders(paths)) {
    const full = join(contextDir, path);
    const stats = await lstat(full).catch((error) => {
      throw unreadable(path, error);
    });
    const common = { path, size: 0, mtime, content: null };
    if (stats.isDirectory()) items.push({ ...common, type: "folder", mode: 0o755 });
    else if (stats.isSymbolicLink()) {
      const target = (await readlink(full)).replaceAll("\\", "/");
      items.push({ ...common, type: "link", mode: 0o777, target });
    } else if (stats.isFile()) {
      const mode = stats.mode & constants.S_IXUSR ? 0o755 : 0o644;
      items.push({ ...common, type: "file", mode, size: stats.size, content: full });
    } else throw notSendable(path, "it is neither a file, a folder nor a symbolic link");
  }
  return items;
}

/** A folder comes before what it holds, and what it holds before its neighbours: `/` sorts before any other byte. */
function withFolders(paths: readonly string[]): string[] {
  const all = new Set<string>();
  for (const path of paths) {
    const parts = path.split("/");
    if (parts.some((part) => part === "" || part === "." || part === "..")) {
      throw new InternalError(`not a normal path inside the context: ${JSON.stringify(path)}`);
    }
    for (let count = 1; count <= parts.length; count++) all.add(parts.slice(0, count).join("/"));
  }
  const key = (path: string) => Buffer.from(path.replaceAll("/", "\0"));
  return [...all]
    .map((path) => ({ path, key: key(path) }))
    .sort((one, other) => Buffer.compare(one.key, other.key))
    .map(({ path }) => path);
}

export function unreadable(path: string, error: unknown): ImgmatchError {
  if (isErrno(error, "ENOENT") || isErrno(error, "ENOTDIR")) return notSendable(path, "no such file");
  return new ImgmatchError(
    { code: "FILE_UNREADABLE", message: `cannot be read: ${errnoMessage(error)}`, at: { file: path } },
    { cause: error },
  );
}

export function notSendable(path: string, why: string): ImgmatchError {
  const fix = "restore or remove it, or correct the matrix's context";
  return new ImgmatchError({
    code: "CONTEXT_NOT_FOUND",
    message: `cannot be sent to the engine: ${why}`,
    fix,
    at: { file: path },
  });
}
