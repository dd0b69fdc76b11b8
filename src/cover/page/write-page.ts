/** Writing a page to a file, in the place of an older one and of nothing else. */

import { closeSync, lstatSync, openSync, readSync } from "node:fs";
import { ImgmatchError } from "../../errors.ts";
import { unreadable } from "../../io/files.ts";
import { writeFileAtomic } from "../../io/write-file.ts";
import { pageStart } from "./document.ts";

/** Throws `FILE_EXISTS` where something is that is no such page, and `WRITE_FAILED`. */
export async function writePage(file: string, page: string): Promise<void> {
  if (!mayReplace(file))
    throw new ImgmatchError({
      code: "FILE_EXISTS",
      message: "it is there already, and no page that imgmatch wrote",
      fix: "name another file",
      at: { file },
    });
  await writeFileAtomic(file, page);
}

function mayReplace(file: string): boolean {
  try {
    const found = lstatSync(file, { throwIfNoEntry: false });
    // What is no file, a pipe above all, is not opened.
    return found === undefined || (found.isFile() && firstBytes(file, pageStart.length) === pageStart);
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
