/** Reads the facts of many hosts from files and folders. */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { ImgmatchError, type Problem, usageError } from "../errors.ts";
import { compareText } from "../io/collections.ts";
import { readTextFile } from "../io/files.ts";
import { inputLimits } from "../io/limits.ts";
import type { HostWorld } from "./cluster-reader.ts";
import { completeHosts, type ToldOfHost } from "./complete-hosts.ts";
import { readHosts } from "./read-hosts.ts";
import type { NamedHost } from "../facts/named-host.ts";

/** Machine types beside the hosts of files, and facts that are added to all of them. */
export interface MoreHosts extends ToldOfHost {
  /** All machine types of `aws`, `azure`, `gcp` or `nvidia`; or a list of them with commas. */
  readonly catalog?: readonly string[];
  /** Single machine types; or a list of them with commas. */
  readonly hostType?: readonly string[];
}

export interface ManyHosts extends MoreHosts {
  /** Facts of hosts: files, folders, or `-` for standard input. */
  readonly hosts?: readonly string[];
}

/**
 * Reads hosts from files and folders, in the order of their names; `-` is standard input. Files whose names begin with a dot are left out.
 * Hosts with the same name get the path of their file before it. Machine types come last.
 *
 * Throws the errors of `readHosts` for all files at once, `FILE_NOT_FOUND`, `FACTS_SCHEMA` for a folder without files, and `USAGE` for
 * an unknown machine type or a malformed driver.
 *
 * @example
 * const hosts = await readHostFiles(["facts/", "nodes.json"], world);
 */
export async function readHostFiles(
  paths: readonly string[],
  world: Pick<HostWorld, "readStdin" | "readClusterNodes">,
  { catalog = [], hostType = [], ...added }: MoreHosts = {},
): Promise<readonly NamedHost[]> {
  const problems: Problem[] = [];
  const found: (NamedHost & { readonly file: string })[] = [];
  for (const file of paths.flatMap(filesOf)) {
    try {
      const text =
        file === "-" ? await world.readStdin() : await readTextFile(file, inputLimits.hosts, { fix });
      const hosts = await readHosts(text, file === "-" ? "standard input" : file, world);
      for (const host of hosts) found.push({ ...host, file });
    } catch (error) {
      if (!(error instanceof ImgmatchError)) throw error;
      problems.push(...error.problems);
    }
  }
  const [first, ...rest] = problems;
  if (first !== undefined) throw new ImgmatchError([first, ...rest]);
  const counts = new Map<string, number>();
  for (const { name } of found) counts.set(name, (counts.get(name) ?? 0) + 1);
  const named = found.map(({ file, ...host }) => ({
    ...host,
    name: (counts.get(host.name) ?? 0) > 1 ? `${file}: ${host.name}` : host.name,
  }));
  if (catalog.length + hostType.length === 0) return completeHosts(named, added);
  const { catalogHosts } = await import("./catalog.ts");
  const types = await catalogHosts({ catalogs: words(catalog), types: words(hostType) });
  return completeHosts([...named, ...types], added);
}

/** Reads the hosts of `cover` and `promote`, from files and from the catalogue. */
export async function readManyHosts(
  { hosts = [], ...more }: ManyHosts,
  world: Pick<HostWorld, "readStdin" | "readClusterNodes">,
): Promise<readonly NamedHost[]> {
  const { catalog = [], hostType = [] } = more;
  if (hosts.length + catalog.length + hostType.length === 0)
    throw usageError(
      "no hosts are named",
      "name files or folders of facts, which imgmatch probe --json writes, or machine types: --catalog aws --driver nvidia=580.95.05",
    );
  return readHostFiles(hosts, world, more);
}

/** Splits lists at their commas. */
function words(lists: readonly string[]): readonly string[] {
  return lists.flatMap((list) => list.split(","));
}

const fix = "imgmatch probe --json writes one for each host";

function filesOf(path: string): readonly string[] {
  if (path === "-" || !statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path];
  const files = readdirSync(path)
    .filter((name) => !name.startsWith("."))
    .sort(compareText)
    .map((name) => join(path, name))
    .filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile());
  if (files.length > 0) return files;
  throw new ImgmatchError({
    code: "FACTS_SCHEMA",
    message: "a folder without files",
    fix,
    at: { file: path },
  });
}
