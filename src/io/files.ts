/** Files: the only place that reads and writes the disk for the build pipeline. */

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ImgmatchError, type ProblemCode } from "../errors.ts";
import { makeFolders } from "./folders.ts";

/**
 * Reads UTF-8 text, with line ends made `\n` so that a CRLF checkout gives the same digests.
 * A missing file throws `missingCode`, anything else `FILE_UNREADABLE`, both naming `shown`. `fix` is for a missing one.
 */
export async function readTextFile(
  path: string,
  {
    missingCode = "FILE_NOT_FOUND",
    shown = path,
    fix,
  }: { missingCode?: ProblemCode; shown?: string; fix?: string } = {},
): Promise<string> {
  try {
    return readFileSync(path, "utf8").replaceAll("\r\n", "\n");
  } catch (error) {
    const missing = isErrno(error, "ENOENT") || isErrno(error, "ENOTDIR");
    throw new ImgmatchError(
      {
        code: missing ? missingCode : "FILE_UNREADABLE",
        message: missing ? "no such file" : `cannot be read: ${errnoMessage(error)}`,
        at: { file: shown },
        ...(fix === undefined || !missing ? {} : { fix }),
      },
      { cause: error },
    );
  }
}

/**
 * Replaces a file in one step: a reader sees the old text or the new, never a part, also after a power cut.
 * Creates missing folders. Throws `WRITE_FAILED` and leaves the old file when the disk is full.
 */
export async function writeFileAtomic(path: string, text: string | Uint8Array): Promise<void> {
  // Loaded here, because whoever only reads, as resolve does, starts sooner without it.
  const { open, rename, rm } = process.getBuiltinModule("node:fs/promises");
  const folder = dirname(path);
  const temporary = join(folder, `.${process.pid}-${Math.random().toString(36).slice(2)}.tmp`);
  try {
    makeFolders(folder);
    const file = await open(temporary, "wx");
    try {
      await file.writeFile(text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, path);
  } catch (error) {
    // What stands in the way of writing may stand in the way of removing: the first failure is the one to tell.
    await rm(temporary, { force: true }).catch(() => {});
    throw new ImgmatchError(
      {
        code: "WRITE_FAILED",
        message: `cannot be written: ${errnoMessage(error)}`,
        fix: "free some space or correct the permissions; the old file is unchanged",
        at: { file: path },
      },
      { cause: error },
    );
  }
}

/** Whether a thrown value is the system's error of this name, for example `ENOENT`. */
export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

export function errnoMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
