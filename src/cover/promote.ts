/** The command `promote`, and what hosts would lose by the move of a channel: cover's rules find it. */

import { usageError } from "../errors.ts";
import { type PromoteOptions as OfFleet, type Promotion, promoteWith } from "../fleet/promote.ts";
import type { PromotionEvent } from "../fleet/publish/publication.ts";
import type { NamedHost } from "../host/read-hosts.ts";
import { groupBy } from "../io/collections.ts";
import { count } from "../io/table.ts";
import { type World, worldOf } from "../io/world.ts";
import { alternativesOf } from "../lock/alternatives.ts";
import type { Lock, LockedImage } from "../lock/lock.ts";
import { rankImages } from "../resolve/resolve-image.ts";
import { type ManyHosts, readCoverHosts } from "./cover-hosts.ts";
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
  const asks = hosts.length + catalog.length + hostType.length > 0 || driver !== undefined;
  if (asks && (options.channel ?? []).length === 0)
    throw usageError("hosts count only for channels", "add --channel, or leave the hosts out");
  const found = asks ? await readCoverHosts(options, worldOf(options, given)) : [];
  return promoteWith(async (before, after) => channelLosses(before, after, found), options, given);
}

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
