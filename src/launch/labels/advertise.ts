/** All that a node says of itself for one fleet: its facts, and which image resolve picks there. */

import type { HostFacts } from "../../host/facts.ts";
import type { Lock } from "../../lock/lock.ts";
import { sortedEntries } from "../../oci/text-order.ts";
import { type ResolveOptions, resolveImage } from "../../resolve/resolve.ts";
import type { Resolution } from "../../resolve/verdict.ts";
import { type NodeLabels, nodeLabels, resolvedLabel } from "./vocabulary.ts";

export interface AdvertisedNode {
  readonly labels: NodeLabels;
  /** `match` is null where no image fits: then the node advertises none. */
  readonly resolution: Resolution;
}

/**
 * The labels of a node with the one of its image, keys sorted. Throws as `resolveImage` does.
 *
 * @example
 * const { labels } = advertiseNode(lock, facts);
 * labels["image.vision"]; // "2.4.0-12.8.1_8.0_x86-64-v3-…"
 */
export function advertiseNode(lock: Lock, host: HostFacts, options: ResolveOptions = {}): AdvertisedNode {
  const resolution = resolveImage(lock, host, options);
  const image = resolution.match === null ? undefined : lock.images[resolution.match.cell];
  if (image === undefined) return { labels: nodeLabels(host), resolution };
  const { key, value } = resolvedLabel(lock.name, image.tag);
  const labels = Object.fromEntries(sortedEntries({ ...nodeLabels(host), [key]: value }));
  return { labels, resolution };
}
