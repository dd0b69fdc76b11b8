/** Hosts that the move of a channel would leave without an image, or give one of another vendor or of another major of its toolkit. */

import type { NamedHost } from "../host/read-hosts.ts";
import { alternativesOf } from "../lock/alternatives.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { count } from "../io/table.ts";
import { groupBy } from "../io/collections.ts";
import { rankImages } from "../resolve/resolve-image.ts";
import { classifyHosts } from "./host-classes.ts";

/**
 * A line for each way in which hosts lose. Without hosts, what the channel has images for is compared: whoever runs CUDA 12 through it
 * must not find CUDA 13 there.
 */
export function channelLosses(before: Lock, after: Lock, hosts: readonly NamedHost[]): readonly string[] {
  if (hosts.length === 0) {
    const kept = new Set(kindsOf(after));
    return kindsOf(before)
      .filter((kind) => !kept.has(kind))
      .map((kind) => `it has images for ${kind}, and would have none`);
  }
  const changes = classifyHosts(hosts, [before, after]).flatMap(({ facts, names }) => {
    const [was, is] = [before, after].map((fleet) => {
      const [best] = rankImages(fleet, facts).ranked;
      return best === undefined ? null : kindOf(best.image);
    });
    if (was == null || was === is) return [];
    return [{ names, change: is == null ? `no image in place of ${was}` : `${is} in place of ${was}` }];
  });
  return [...groupBy(changes, ({ change }) => change)].map(([change, all]) => {
    const names = all.flatMap((each) => each.names);
    const more = names.length > 5 ? " …" : "";
    return `${count(names.length, "host")} would get ${change}: ${names.slice(0, 5).join(", ")}${more}`;
  });
}

function kindsOf({ images }: Lock): readonly string[] {
  return [...new Set(Object.values(images).flatMap(alternativesOf).map(kindOf))].sort();
}

/** The kind of an image by which other people's rules go: the vendor, and the major of its toolkit. */
function kindOf({ requires: { cuda, rocm, accelerator } }: Pick<LockedImage, "requires">): string {
  if (cuda !== null) return `CUDA ${cuda.toolkit.split(".")[0]}`;
  return rocm == null ? (accelerator ?? "the CPU") : `ROCm ${rocm.release.split(".")[0]}`;
}
