/** rpm's databases: which files the distribution's packages brought. */

import { remember } from "../../../io/collections.ts";
import type { PackageRecords } from "../unchanged-files.ts";
import { bdbHeaders, ndbHeaders } from "./bdb.ts";
import { DamagedDatabase, readRpmHeader } from "./rpm-header.ts";
import { sqliteHeaders } from "./sqlite.ts";

/**
 * The vendors that distributions write into the packages that they build. Exactly: another builder for one ("Fedora Copr - user …",
 * "obs://build.opensuse.org/…", NVIDIA) says something else.
 */
const vendors: ReadonlySet<string> = new Set([
  "AlmaLinux",
  "Amazon Linux",
  "CentOS",
  "Fedora Project",
  "openSUSE",
  "Oracle America",
  "Red Hat, Inc.",
  "Rocky Enterprise Software Foundation",
  "SUSE LLC <https://www.suse.com/>",
]);

const kinds = { sqlite: sqliteHeaders, ndb: ndbHeaders, bdb: bdbHeaders } as const;
/** Of all paths together: a folder's name stands once in a database, and before each of its files here. */
const maxNames = 64 * 2 ** 20;

export type RpmDatabase = keyof typeof kinds;

/** A damaged one tells nothing, so that every file counts. */
export function readRpm(bytes: Uint8Array, kind: RpmDatabase): PackageRecords {
  const distribution = new Set<string>();
  const files = new Map<string, Record<string, string>>();
  let names = 0;
  try {
    for (const blob of kinds[kind](bytes)) {
      const header = readRpmHeader(blob);
      if (header === null || header.name === "" || !vendors.has(header.vendor)) continue;
      distribution.add(header.name);
      const own = remember(files, header.name, (): Record<string, string> => ({}));
      for (const [path, checksum] of header.files()) {
        names += path.length + checksum.length;
        if (names > maxNames) throw new DamagedDatabase(`its names have more than ${maxNames} bytes`);
        // Documentation and the like holds no code.
        if (!path.startsWith("usr/share/doc/") && !path.startsWith("usr/share/man/")) own[path] = checksum;
      }
    }
  } catch (error) {
    if (!(error instanceof DamagedDatabase)) throw error;
    return { distribution: [], files: {}, unread: error.message };
  }
  return { distribution: [...distribution], files: Object.fromEntries(files) };
}
