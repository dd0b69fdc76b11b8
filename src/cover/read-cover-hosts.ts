/** Reads the hosts of `cover` and `promote`. */

import { usageError } from "../errors.ts";
import { type MoreHosts, readHostFiles } from "../host/read-host-files.ts";
import type { NamedHost } from "../host/read-hosts.ts";
import type { World } from "../io/world.ts";

export interface ManyHosts extends MoreHosts {
  /** Facts of hosts: files, folders, or `-` for standard input. */
  readonly hosts?: readonly string[];
}

/** Reads hosts from files and from the catalogue. */
export async function readCoverHosts(
  { hosts = [], ...more }: ManyHosts,
  { readStdin }: Pick<World, "readStdin">,
): Promise<readonly NamedHost[]> {
  const { catalog = [], hostType = [], driver } = more;
  const asksCatalog = catalog.length + hostType.length > 0;
  if (hosts.length === 0 && !asksCatalog)
    throw usageError(
      "no hosts are named",
      "name files or folders of facts, which imgmatch probe --json writes, or machine types: --catalog aws --driver 580.95.05",
    );
  if (asksCatalog && driver === undefined)
    throw usageError(
      "no machine type comes with a driver",
      "name the one that they will have: --driver 580.95.05",
    );
  return readHostFiles(hosts, readStdin, more);
}
