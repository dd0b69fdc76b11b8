/** The command `promote`: what hosts would lose by the move of a channel is found by cover's rules. */

import { usageError } from "../errors.ts";
import { type PromoteOptions as OfFleet, type Promotion, promoteWith } from "../fleet/promote.ts";
import type { PromotionEvent } from "../fleet/publication.ts";
import { type World, worldOf } from "../io/world.ts";
import { channelLosses } from "./channel-losses.ts";
import { type ManyHosts, readCoverHosts } from "./cover-hosts.ts";

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
