/** Which files of an image belong to a package database: dpkg's status and lists of checksums, and apk's list. */

import { readApk } from "./apk.ts";
import { readDpkgStatus, readMd5sums } from "./dpkg.ts";
import type { PackageRecords } from "./package-records.ts";

/** A database of 20,000 packages has about 20 MB; what is longer is not read, so that its files count. */
export const maxDatabase = 64 * 2 ** 20;

const databases: readonly (readonly [RegExp, (text: string, name: string) => PackageRecords])[] = [
  // Images without a shell have one status and one list for each package (distroless).
  [/^var\/lib\/dpkg\/(?:info|status\.d)\/([^/]+)\.md5sums$/, readMd5sums],
  [/^var\/lib\/dpkg\/(?:status|status\.d\/[^/]+)$/, readDpkgStatus],
  [/^(?:usr\/)?lib\/apk\/db\/installed$/, readApk],
];

/** Reads the database file at a path of an image, without a leading slash; null for what is none. */
export function databaseReader(path: string): ((text: string) => PackageRecords) | null {
  for (const [pattern, read] of databases) {
    const found = pattern.exec(path);
    if (found !== null) return (text) => read(text, found[1] ?? "");
  }
  return null;
}
