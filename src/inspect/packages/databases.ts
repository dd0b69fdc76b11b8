/** Which files of an image belong to a package database: dpkg's status and lists of checksums, apk's list, rpm's databases. */

import { readApk } from "./apk.ts";
import { readDpkgStatus, readMd5sums } from "./dpkg.ts";
import type { PackageRecords } from "./package-records.ts";
import { type RpmDatabase, readRpm } from "./rpm/rpm.ts";

/** A database of 20,000 packages has about 20 MB; what is longer is not read, so that its files count. */
const maxDatabase = 64 * 2 ** 20;

type Read = (bytes: Uint8Array, name: string) => PackageRecords;

const text =
  (read: (text: string, name: string) => PackageRecords): Read =>
  (bytes, name) =>
    read(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("utf8"), name);
const rpm =
  (kind: RpmDatabase): Read =>
  (bytes) =>
    readRpm(bytes, kind);

/** Of older and newer distributions, and of those whose `/var` is a machine's own. */
const rpmFolder = "(?:var/lib|usr/lib/sysimage|usr/share)/rpm";

const databases: readonly (readonly [RegExp, Read])[] = [
  // Images without a shell have one status and one list for each package (distroless).
  [/^var\/lib\/dpkg\/(?:info|status\.d)\/([^/]+)\.md5sums$/, text(readMd5sums)],
  [/^var\/lib\/dpkg\/(?:status|status\.d\/[^/]+)$/, text(readDpkgStatus)],
  [/^(?:usr\/)?lib\/apk\/db\/installed$/, text(readApk)],
  [new RegExp(`^${rpmFolder}/rpmdb\\.sqlite$`), rpm("sqlite")],
  [new RegExp(`^${rpmFolder}/Packages\\.db$`), rpm("ndb")],
  [new RegExp(`^${rpmFolder}/Packages$`), rpm("bdb")],
];

/**
 * Reads the database file at a path of an image, without a leading slash, which has so many bytes; null for what is none. One that is too
 * long is not asked for its bytes.
 */
export function databaseReader(
  path: string,
  size: number,
): ((content: () => Promise<Uint8Array>) => Promise<PackageRecords>) | null {
  for (const [pattern, read] of databases) {
    const found = pattern.exec(path);
    if (found === null) continue;
    return async (content) =>
      size > maxDatabase
        ? { distribution: [], files: {}, unread: `longer than ${maxDatabase} bytes` }
        : read(await content(), found[1] ?? "");
  }
  return null;
}
