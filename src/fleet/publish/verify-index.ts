/** Whether the index of a lock's version says what the lock says, and shows runtimes nothing else. */

import type { Problem } from "../../errors.ts";
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

const nothing: IndexVerification = { conflicts: [] };

/** Finds nothing where the version's tag holds no index of a fleet, or one of another format. Throws `INDEX_INVALID` where it is damaged. */
export async function verifyIndex(
  lock: Lock,
  registry: Pick<RegistryClient, "readManifest">,
): Promise<IndexVerification> {
  const tag = versionTag(lock);
  if (!isTag(tag)) return nothing;
  const reference = withTag(parseImageReference(lock.repository), tag);
  const top = await registry.readManifest(reference);
  if (top === null || formatOf(top) !== indexFormat) return nothing;
  const stored = await readFleetIndex(registry, withDigest(reference, top.digest));
  if (stored === null) return nothing;
  const index = parseFleetIndex(stored, reference);
  const entries = new Map<string, { readonly image: IndexedImage }>();
  for (const [cell, locked] of Object.entries(lock.images)) {
    const image = indexedImage(locked);
    if (image !== null) entries.set(cell, { image });
  }
  return {
    conflicts: [
      // Not every lock tells what is preferred.
      ...indexConflicts(index, { prefer: index.prefer, entries }, reference),
      ...(await misnamedImages([...index.entries], reference, registry)),
      ...strangers(stored, reference),
    ],
  };
}
