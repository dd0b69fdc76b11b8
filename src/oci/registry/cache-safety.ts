/**
 * Whether others can write a cache: an answer from there is believed where the registry cannot be asked, so whoever writes it
 * chooses what runs.
 */

import { ImgmatchError } from "../../errors.ts";
import { findWritableByOthers } from "../../io/writable-by-others.ts";

/**
 * Throws `CACHE_UNSAFE` when somebody beside this user and root can change the folder, one of its files that are named, or a
 * folder above.
 */
export function requireSafeCache(folder: string, files: readonly string[]): void {
  const found = findWritableByOthers([...files, folder]);
  if (found === null) return;
  const { path, why, byMode } = found;
  throw new ImgmatchError({
    code: "CACHE_UNSAFE",
    message: `${why}: anybody who can write the cache chooses the image`,
    fix: byMode
      ? `chmod go-w ${path}, or name another folder with --cache`
      : "name a folder of your own with --cache",
    at: { file: path },
  });
}
