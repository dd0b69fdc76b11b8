/** Removing the transient tags that killed publishers have left. */

import pLimit from "p-limit";
import { type ImageReference, withDigest, withTag } from "../../oci/reference.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { isTransientTag, left } from "./announcement.ts";

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
  /** Tags at one time. Default: 8. */
  readonly concurrency?: number;
}

/**
 * Each tag is given an empty index first, which nothing that was ever published has as its manifest; then the tag is removed, or,
 * where the registry removes manifests alone, that index. So no published image can go with it. While nobody publishes there: a
 * publisher's own tag is how others see it. Throws `REGISTRY_…`.
 */
export async function sweep(
  repository: ImageReference,
  { registry, keep, concurrency = 8 }: SweepOptions,
): Promise<Sweep> {
  const tags: string[] = [];
  for await (const tag of registry.listTags(repository))
    if (isTransientTag(tag) && !keep.has(tag)) tags.push(tag);
  tags.sort();
  const limit = pLimit(concurrency);
  const gone = await Promise.all(
    tags.map((tag) => limit(() => removeOne(registry, withTag(repository, tag)))),
  );
  const stay = tags.filter((_, index) => !gone[index]);
  const isGone = stay.length > 0 && (await registry.removeManifest(withDigest(repository, left.digest)));
  return isGone
    ? { removed: tags, emptied: [] }
    : { removed: tags.filter((tag) => !stay.includes(tag)), emptied: stay };
}

async function removeOne(registry: RegistryClient, tag: ImageReference): Promise<boolean> {
  await registry.writeManifest(tag, left);
  return registry.removeTag(tag);
}
