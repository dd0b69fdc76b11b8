/** Whether the index of a lock's version says what the lock says, and shows runtimes nothing else. */

import type { Problem } from "../../errors.ts";
import type { Digest } from "../../oci/digest.ts";
import type { Lock } from "../../lock/lock.ts";
import { isTag, parseImageReference, withDigest, withTag } from "../../oci/reference.ts";
import { versionTag } from "../cells/tag.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { type IndexedImage, indexedImage, indexFormat } from "../../lock/fleet-index.ts";
import { formatOf, parseFleetIndex, readFleetIndex } from "../../lock/read-fleet-index.ts";
import { indexConflicts, misnamedImages, strangers } from "./index-conflicts.ts";

export interface IndexVerification {
  /** An `INDEX_CONFLICT` for each of its entries that is not as the lock says, cells of other publishers aside, or is no cell's. */
  readonly conflicts: readonly Problem[];
}

/**
 * Of the version's index, of each variant's, and of each channel that was moved to this version. Finds nothing where a tag holds no index of a fleet, or one of
 * another format. Throws `INDEX_INVALID` where one is damaged.
 */
export async function verifyIndexes(lock: Lock, registry: Registry): Promise<IndexVerification> {
  const channels = Object.entries(lock.channels ?? {}).filter(([, { version }]) => version === lock.version);
  const tags = [versionTag(lock), ...channels.map(([name]) => name)];
  const found = await Promise.all(tags.map((tag) => verifyIndex(lock, tag, registry)));
  const images = channels.flatMap(([name, { digest }]) =>
    found[tags.indexOf(name)] == null ? strayImage(lock, name, digest) : [],
  );
  const variants = (lock.variants ?? []).map(
    async (name) => (await verifyIndex(lock, name, registry)) ?? [goneIndex(lock, name)],
  );
  return {
    conflicts: [...found.flatMap((each) => each ?? []), ...images, ...(await Promise.all(variants)).flat()],
  };
}

function goneIndex({ repository }: Lock, name: string): Problem {
  const message = `${repository}:${name}, the index of a variant, is gone or holds something else`;
  return {
    code: "INDEX_CONFLICT",
    message,
    fix: "find out who removed it; imgmatch publish writes it again",
  };
}

/** Of a channel that is one image. */
function strayImage({ images, repository }: Lock, name: string, digest: Digest): readonly Problem[] {
  if (Object.values(images).some((image) => image.digest === digest)) return [];
  const message = `${repository}:${name} was moved to ${digest}, which is no image of the lock`;
  return [{ code: "INDEX_CONFLICT", message, fix: "move the channel again: imgmatch promote --channel" }];
}

type Registry = Pick<RegistryClient, "readManifest">;

/** null where there is none. */
async function verifyIndex(lock: Lock, tag: string, registry: Registry): Promise<readonly Problem[] | null> {
  if (!isTag(tag)) return null;
  const reference = withTag(parseImageReference(lock.repository), tag);
  const top = await registry.readManifest(reference);
  if (top === null || formatOf(top) !== indexFormat) return null;
  const stored = await readFleetIndex(registry, withDigest(reference, top.digest));
  if (stored === null) return null;
  const index = parseFleetIndex(stored, reference);
  const entries = new Map<string, { readonly image: IndexedImage }>();
  for (const [cell, locked] of Object.entries(lock.images)) {
    const image = indexedImage(locked);
    if (image !== null) entries.set(cell, { image });
  }
  return [
    // Not every lock tells what is preferred.
    ...indexConflicts(index, { prefer: index.prefer, entries }, reference),
    ...(await misnamedImages([...index.entries], reference, registry)),
    ...strangers(stored, reference),
  ];
}
