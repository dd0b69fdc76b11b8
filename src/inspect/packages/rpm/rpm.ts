/** Reads rpm's databases: the files of the distribution's packages. */

import { remember } from "../../../io/collections.ts";
import type { PackageRecords } from "../unchanged-files.ts";
import { bdbHeaders, ndbHeaders } from "./bdb.ts";
import { DamagedDatabase, readRpmHeader } from "./rpm-header.ts";
import { sqliteHeaders } from "./sqlite.ts";

/** The vendors of distributions' own packages. Other builders write others ("Fedora Copr - user …", "obs://build.opensuse.org/…", NVIDIA). */
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
/** For all paths together. A database has a folder's name once, and here it is part of every path. */
const maxNames = 64 * 2 ** 20;

export type RpmDatabase = keyof typeof kinds;

/** A damaged database has no packages: their files count as the image's own. */
export function readRpm(bytes: Uint8Array, kind: RpmDatabase): PackageRecords {
  const distribution = new Set<string>();
  const files = new Map<string, Record<string, string>>();
  let names = 0;
  try {
    for (const blob of kinds[kind](bytes)) {
      const header = readRpmHeader(blob);
      if (header === null || header.name === "" || !vendors.has(header.vendor)) continue;
      distribution.add(header.name);
      const checksums = remember(files, header.name, (): Record<string, string> => ({}));
      for (const [path, checksum] of header.files()) {
        names += path.length + checksum.length;
        if (names > maxNames) throw new DamagedDatabase(`its names have more than ${maxNames} bytes`);
        // Documentation holds no code.
        if (!path.startsWith("usr/share/doc/") && !path.startsWith("usr/share/man/"))
          checksums[path] = checksum;
      }
    }
  } catch (error) {
    if (!(error instanceof DamagedDatabase)) throw error;
    return { distribution: [], files: {}, unread: error.message };
  }
  return { distribution: [...distribution], files: Object.fromEntries(files) };
}
