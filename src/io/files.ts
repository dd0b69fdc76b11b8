/** Reads files, and turns the system's errors into problems. */

import {
  closeSync,
  existsSync,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
} from "node:fs";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { faultOf, ImgmatchError } from "../errors.ts";
import type { ProblemCode } from "../problem-codes.ts";
import { attempt } from "./attempt.ts";
import { type InputLimit, inputTooLarge } from "./limits.ts";

/**
 * Reads UTF-8 text. Line ends become `\n`, so that a CRLF checkout gives the same digests.
 * Throws `missingCode` for a missing file, `INPUT_TOO_LARGE`, and `FILE_UNREADABLE` for any other error.
 *
 * @param limit null for a file of the user's own machine
 */
export async function readTextFile(
  path: string,
  limit: InputLimit | null,
  options: ReadOptions = {},
): Promise<string> {
  return readFileBytes(path, limit, options).toString("utf8").replaceAll("\r\n", "\n");
}

export interface ReadOptions {
  readonly missingCode?: ProblemCode;
  /** The path in messages. */
  readonly shown?: string;
  /** For a missing file. */
  readonly fix?: string;
  /** The flag that names the file. If a folder above or below has a missing file, the fix is the flag with that path. */
  readonly flag?: string;
}

/** Reads UTF-8 text with its line ends and byte order mark. Throws `FILE_UNREADABLE` also for any other encoding. */
export async function readExactText(
  path: string,
  limit: InputLimit,
  options: ReadOptions = {},
): Promise<string> {
  const bytes = readFileBytes(path, limit, options);
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (error) {
    const at = { file: options.shown ?? path };
    const fix = "write it in UTF-8";
    throw new ImgmatchError({ code: "FILE_UNREADABLE", message: "is not UTF-8", fix, at }, { cause: error });
  }
}

function readFileBytes(
  path: string,
  limit: InputLimit | null,
  { missingCode = "FILE_NOT_FOUND", shown = path, fix: usual, flag }: ReadOptions,
): Buffer {
  try {
    return limit === null ? readFileSync(path) : readBounded(path, limit, shown);
  } catch (error) {
    if (error instanceof ImgmatchError) throw error;
    if (!isErrno(error, "ENOENT", "ENOTDIR")) throw unreadable(shown, error);
    const at = { file: shown };
    const fix = flag === undefined ? usual : fixFor(path, flag, usual);
    throw new ImgmatchError(
      { code: missingCode, message: "no such file", at, ...(fix === undefined ? {} : { fix }) },
      { cause: error },
    );
  }
}

function fixFor(path: string, flag: string, usual: string | undefined): string | undefined {
  const above = fileAbove(path);
  if (above !== null) return `it is in a folder above: ${flag} ${above}`;
  const [first, ...others] = filesBelow(path);
  if (first === undefined) return usual;
  const more = others.length === 0 ? "" : `, and ${others.length} more`;
  const below = `there is ${flag} ${first} below${more}`;
  return usual === undefined ? below : `${usual}; ${below}`;
}

/** How deep, and in how many folders, a file is looked for that is not where the command asks. */
const belowBounds = { depth: 3, folders: 500 };

/** In a folder of several projects, a command usually means one of them. */
function filesBelow(path: string): readonly string[] {
  if (isAbsolute(path)) return [];
  const found: string[] = [];
  let level: readonly string[] = [""];
  for (let depth = 0, left = belowBounds.folders; depth < belowBounds.depth; depth++) {
    level = level.flatMap(foldersIn).slice(0, left);
    left -= level.length;
    found.push(...level.map((folder) => join(folder, path)).filter((each) => existsSync(each)));
  }
  return found.sort();
}

function foldersIn(folder: string): readonly string[] {
  const entries = attempt(() => readdirSync(folder === "" ? "." : folder, { withFileTypes: true }), []);
  return entries
    .filter((entry) => entry.isDirectory() && !/^(\.|node_modules$)/.test(entry.name))
    .map(({ name }) => join(folder, name))
    .sort();
}

/** In a subfolder, a command usually means the project's file. */
function fileAbove(path: string): string | null {
  if (isAbsolute(path)) return null;
  for (let folder = ".."; ; folder = join("..", folder)) {
    const above = join(folder, path);
    if (existsSync(above)) return above;
    if (dirname(resolve(folder)) === resolve(folder)) return null;
  }
}

const chunkBytes = 64 * 1024;

/** Reads a file, a pipe or a device. Throws `INPUT_TOO_LARGE` as soon as more than the limit comes, and the system's errors. */
export function readBounded(path: string, limit: InputLimit, shown = path): Buffer {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    if (size > limit.bytes) throw inputTooLarge(limit, size, { file: shown });
    const chunks: Buffer[] = [];
    let total = 0;
    // With one byte more than the size, the next read finds the end. Files without a size, and growing ones, take further chunks.
    let chunk = Buffer.allocUnsafe(size > 0 ? size + 1 : chunkBytes);
    for (let filled = 0; ; ) {
      const count = readSync(file, chunk, filled, chunk.length - filled, null);
      if (count === 0) return Buffer.concat([...chunks, chunk.subarray(0, filled)], total);
      total += count;
      filled += count;
      if (total > limit.bytes) throw inputTooLarge(limit, null, { file: shown });
      if (filled < chunk.length) continue;
      chunks.push(chunk);
      chunk = Buffer.allocUnsafe(chunkBytes);
      filled = 0;
    }
  } finally {
    closeSync(file);
  }
}

/** `FILE_UNREADABLE`. `what` describes a file whose name does not. */
export function unreadable(
  file: string,
  error: unknown,
  { what = "", fix }: { readonly what?: string; readonly fix?: string } = {},
): ImgmatchError {
  const message = `${what} cannot be read: ${faultOf(error)}`.trimStart();
  return new ImgmatchError(
    { code: "FILE_UNREADABLE", message, at: { file }, ...(fix === undefined ? {} : { fix }) },
    { cause: error },
  );
}

/** Throws `FILE_UNREADABLE` for a file that cannot be looked at: silence is no absence. A link to nothing is there. */
export function isThere(file: string): boolean {
  try {
    lstatSync(file);
    return true;
  } catch (error) {
    if (isErrno(error, "ENOENT", "ENOTDIR")) return false;
    throw unreadable(file, error);
  }
}

/** For a rejected promise: ignores the system's errors of these names, and throws all others. */
export function ignoring(...codes: readonly string[]): (error: unknown) => void {
  return (error) => {
    if (!isErrno(error, ...codes)) throw error;
  };
}

/** True if a thrown value is a system error with one of these names, for example `ENOENT`. */
export function isErrno(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && "code" in error && codes.includes(String(error.code));
}
