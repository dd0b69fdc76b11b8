/** Opening what has to be a plain file, whatever a link or a pipe in its place would lead to. */

import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

// Windows has neither. Without O_NONBLOCK, a pipe that has taken the file's place would be waited for.
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** For reading. Throws the system's error; `ELOOP` for a symbolic link, `EFTYPE` for what is no plain file. */
export async function openPlainFile(path: string): Promise<FileHandle> {
  const file = await open(path, flags);
  const stats = await file.stat();
  if (stats.isFile()) return file;
  await file.close();
  throw Object.assign(new Error("it is no plain file"), { code: "EFTYPE" });
}
