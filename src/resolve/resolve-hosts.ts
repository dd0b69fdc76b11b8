/** The image of each of many hosts, by one lock. */

import type { HostFacts } from "../host/facts.ts";
import type { Lock } from "../lock/lock.ts";
import { nearestFirst } from "./nearest.ts";
import type { ResolveOptions } from "./resolve-options.ts";
import { resolveImage } from "./resolve-image.ts";
import type { Misfit, Resolution } from "./verdict.ts";

export interface HostResolution extends Resolution {
  /** The host's name. */
  readonly host: string;
  /** What keeps the nearest image from a host without one; null where it has one, or the lock has none. */
  readonly nearest: (Misfit & { readonly cell: string }) | null;
}

/** In the order of the hosts. Throws as `resolveImage`. */
export function resolveHosts(
  lock: Lock,
  hosts: readonly { readonly name: string; readonly facts: HostFacts }[],
  options: ResolveOptions = {},
): readonly HostResolution[] {
  return hosts.map(({ name, facts }) => {
    const resolution = resolveImage(lock, facts, options);
    const [miss] = resolution.match === null ? nearestFirst(lock, resolution.rejected, facts, options) : [];
    const [first] = miss?.misfits ?? [];
    const nearest = miss === undefined || first === undefined ? null : { cell: miss.cell, ...first };
    return { host: name, ...resolution, nearest };
  });
}
