/** Writes a report to a file, and replaces nothing but an older report. */

import { closeSync, lstatSync, openSync, readSync } from "node:fs";
import { ImgmatchError } from "../errors.ts";
import { unreadable } from "./files.ts";
import { writeFileAtomic } from "./write-file.ts";

/** A kind of report. */
export interface OwnFile {
  /** The first characters of each. */
  readonly start: string;
  /** Its name, for messages. */
  readonly what: string;
}

/** Throws `FILE_EXISTS` if the file is no such report, and `WRITE_FAILED`. */
export async function replaceOwnFile(file: string, text: string, own: OwnFile): Promise<void> {
  if (!mayReplace(file, own))
    throw new ImgmatchError({
      code: "FILE_EXISTS",
      message: `it exists, and is not a ${own.what} that imgmatch wrote`,
      fix: "name another file",
      at: { file },
    });
  await writeFileAtomic(file, text);
}

function mayReplace(file: string, { start }: OwnFile): boolean {
  try {
    const found = lstatSync(file, { throwIfNoEntry: false });
    // A pipe must not be opened.
    return found === undefined || (found.isFile() && firstBytes(file, start.length) === start);
  } catch (error) {
    throw unreadable(file, error);
  }
}

function firstBytes(file: string, count: number): string {
  const bytes = Buffer.alloc(count);
  const opened = openSync(file, "r");
  try {
    return bytes.toString("latin1", 0, readSync(opened, bytes, 0, count, 0));
  } finally {
    closeSync(opened);
  }
}
