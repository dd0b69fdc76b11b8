/** Removes the transient tags that killed publishers left. */

import pLimit from "p-limit";
import { type ImageReference, withDigest, withTag } from "../../oci/reference.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { isTransientTag, left } from "../../oci/registry/transient-tag.ts";

export interface Sweep {
  /** Tags that are gone. */
  readonly removed: readonly string[];
  /** Tags that the registry cannot remove: they hold an empty index now. */
  readonly emptied: readonly string[];
}

export interface SweepOptions {
  readonly registry: RegistryClient;
  /** Tags that stay, whatever they look like: those of the lock. */
  readonly keep: ReadonlySet<string>;
}

/**
 * Writes an empty index to each tag first, which no image shares; then removes the tag or, in a registry that removes manifests alone,
 * that index. So no published image goes with it. Call it while nobody publishes: other publishers need the tag of a running one.
 * Throws `REGISTRY_…`.
 */
export async function sweep(repository: ImageReference, { registry, keep }: SweepOptions): Promise<Sweep> {
  const tags: string[] = [];
  for await (const tag of registry.listTags(repository))
    if (isTransientTag(tag) && !keep.has(tag)) tags.push(tag);
  tags.sort();
  const limit = pLimit(8);
  const gone = await limit.map(tags, async (tag) => {
    await registry.writeManifest(withTag(repository, tag), left);
    return registry.removeTag(withTag(repository, tag));
  });
  const stay = tags.filter((_, index) => !gone[index]);
  const isGone = stay.length > 0 && (await registry.removeManifest(withDigest(repository, left.digest)));
  return isGone
    ? { removed: tags, emptied: [] }
    : { removed: tags.filter((tag) => !stay.includes(tag)), emptied: stay };
}
