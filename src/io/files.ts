/** Reading files, and what the system says when that fails. */

import { readFileSync } from "node:fs";
import { ImgmatchError, type ProblemCode } from "../errors.ts";

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

/** Whether a thrown value is the system's error of this name, for example `ENOENT`. */
export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && "code" in error && error.code === code;
}

export function errnoMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
