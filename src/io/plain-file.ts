/** Opens a plain file, and refuses a link or a pipe in its place. */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

// Without O_NONBLOCK, opening a pipe would wait for its writer. Windows has neither flag.
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Opens for reading. Throws the system's error: `ELOOP` for a symbolic link, `EFTYPE` for anything else that is no plain file. */
export async function openPlainFile(path: string): Promise<FileHandle> {
  const file = await open(path, flags);
  const stats = await file.stat();
  if (stats.isFile()) return file;
  await file.close();
  throw Object.assign(new Error("it is no plain file"), { code: "EFTYPE" });
}
