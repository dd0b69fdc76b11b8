/** Finds what hosts lose where a channel moves from the images of one fleet to those of another. */

import type { NamedHost } from "../facts/named-host.ts";
import { toolkitNames } from "../hardware/gpu-vendors.ts";
import { groupBy } from "../io/collections.ts";
import { count, firstOf } from "../io/table.ts";
import { alternativesOf } from "../lock/alternatives.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { answerOfSide, releaseOf, sidesOf } from "../lock/requirement.ts";
import { classifyHosts } from "./host-classes.ts";
import { rankImages } from "./resolve-image.ts";

/**
 * A line for each loss of hosts. Without hosts, it compares the kinds of images: somebody who runs CUDA 12 from the channel must not
 * find CUDA 13 there.
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
    return `${count(names.length, "host")} would get ${change}: ${firstOf(names, 5)}`;
  });
}

function kindsOf({ images }: Lock): readonly string[] {
  return [...new Set(Object.values(images).flatMap(alternativesOf).map(kindOf))].sort();
}

/** The vendor, and the major of the toolkit. */
function kindOf({ requires }: Pick<LockedImage, "requires">): string {
  const [side] = sidesOf(requires);
  if (side === undefined) return requires.accelerator ?? "the CPU";
  return `${toolkitNames[side.vendor]} ${answerOfSide(releaseOf, side).split(".")[0]}`;
}
