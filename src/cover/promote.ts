/** `imgmatch promote`, with a check of the hosts that would lose their image by the move of a channel. */

import { usageError } from "../errors.ts";
import { type PromoteOptions as OfFleet, type Promotion, promoteWith } from "../fleet/promote.ts";
import type { PromotionEvent } from "../fleet/publish/publication.ts";
import type { NamedHost } from "../host/read-hosts.ts";
import { groupBy } from "../io/collections.ts";
import { count, firstOf } from "../io/table.ts";
import { type World, worldOf } from "../io/world.ts";
import { alternativesOf } from "../lock/alternatives.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { rankImages } from "../resolve/resolve-image.ts";
import { type ManyHosts, readCoverHosts } from "./read-cover-hosts.ts";
import { classifyHosts } from "./host-classes.ts";

export interface PromoteOptions extends OfFleet, ManyHosts {}

/**
 * Writes the images of one version under another, or moves channels of the matrix to images of the lock or of a version. It builds nothing, and
 * every digest stays.
 *
 * Throws `USAGE`, `LOCK_…`, `INDEX_NOT_FOUND`, `INDEX_CONFLICT` if `to` has another image or another cell, `SIGNATURE_…`, `REGISTRY_…`;
 * for channels `CHANNEL_LOSS`, `INDEX_INCOMPLETE`, and `TAG_CONFLICT` if one holds an image that the lock does not record.
 *
 * @example
 * const { index } = await promote({ from: "1.1.0-rc1", to: "1.1.0" });
 * const { channels } = await promote({ channel: ["latest"], hosts: ["hosts"] });
 */
export async function promote(
  options: PromoteOptions,
  given?: Partial<World<PromotionEvent>>,
): Promise<Promotion> {
  const { hosts = [], catalog = [], hostType = [], driver } = options;
  const namesHosts = hosts.length + catalog.length + hostType.length > 0 || driver !== undefined;
  if (namesHosts && (options.channel ?? []).length === 0)
    throw usageError("hosts count only for channels", "add --channel, or leave the hosts out");
  const found = namesHosts ? await readCoverHosts(options, worldOf(options, given)) : [];
  return promoteWith(async (before, after) => channelLosses(before, after, found), options, given);
}

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
function kindOf({ requires: { cuda, rocm, accelerator } }: Pick<LockedImage, "requires">): string {
  if (cuda !== null) return `CUDA ${cuda.toolkit.split(".")[0]}`;
  return rocm == null ? (accelerator ?? "the CPU") : `ROCm ${rocm.release.split(".")[0]}`;
}
