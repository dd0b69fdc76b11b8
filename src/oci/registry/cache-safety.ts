/**
 * Whether others can write a cache: an answer from there is believed where the registry cannot be asked, so whoever writes it
 * chooses what runs.
 */

import { requireOwn } from "../../io/writable-by-others.ts";

/**
 * Throws `CACHE_UNSAFE` when somebody beside this user and root can change the folder, one of its files that are named, or a
 * folder above.
 */
export function requireSafeCache(folder: string, files: readonly string[]): void {
  requireOwn([...files, folder], "CACHE_UNSAFE", "the cache chooses the image", {
    fix: () => "name a folder of your own with --cache",
    orElse: ", or name another folder with --cache",
  });
}
