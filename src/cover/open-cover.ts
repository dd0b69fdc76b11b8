/** The subjects of `imgmatch cover`: a fleet and the classes of its hosts, as they are and with the changes of `--what-if`. */

import type { NamedHost } from "../host/read-hosts.ts";
import type { CoverFleet } from "./cover-classes.ts";
import { classifyHosts, type HostClass } from "./host-classes.ts";
import { changeFleet, changeHost, parseChanges } from "./what-if.ts";

export interface OpenCover {
  /** As they are; class `c1` is the first. */
  readonly classes: readonly HostClass[];
  /** The same classes in the same order, and their fleet, with the changes; null where none were asked for. */
  readonly after: { readonly fleet: CoverFleet; readonly classes: readonly HostClass[] } | null;
}

/** Throws `USAGE` for changes that are none, and for one that changes nothing. */
export function openCover(
  fleet: CoverFleet,
  hosts: readonly NamedHost[],
  texts: readonly string[],
): OpenCover {
  const changes = parseChanges(texts);
  if (changes.length === 0) return { classes: classifyHosts(hosts, [fleet.lock]), after: null };
  const changed = { ...fleet, lock: changeFleet(fleet.lock, changes) };
  const classes = classifyHosts(hosts, [fleet.lock, changed.lock]);
  const moved = classes.map((each) => ({ ...each, facts: changeHost(each.facts, changes) }));
  return { classes, after: { fleet: changed, classes: moved } };
}
