/** The index of a version from a lock alone: for images that others built, of which there is no matrix. */

import { ImgmatchError } from "../errors.ts";
import type { Lock } from "../lock/lock.ts";
import { parseImageReference, withTag } from "../oci/reference.ts";
import { versionTag } from "../plan/tag.ts";
import type { ManifestDescriptor } from "../registry/client.ts";
import { type IndexedImage, indexedImage } from "../registry/fleet-index.ts";
import { publishIndex } from "./publish-index.ts";
import type { PlanIndex, PlanIndexOptions } from "./publish-plan-index.ts";

/** Throws as `publishPlanIndex` does. */
export async function publishAdopted(lock: Lock, options: PlanIndexOptions): Promise<PlanIndex> {
  const { name, version, prefer = [] } = lock;
  const reference = withTag(parseImageReference(lock.repository), versionTag(lock));
  const images = new Map<string, IndexedImage>();
  const manifests = new Map<string, ManifestDescriptor>();
  for (const [cell, locked] of Object.entries(lock.images)) {
    if (locked.tag === reference.tag)
      throw new ImgmatchError({
        code: "TAG_COLLISION",
        message: `the image of ${cell} has the tag ${locked.tag}, which is the index's`,
        fix: "give the lock another version: imgmatch adopt --fleet-version",
      });
    const image = indexedImage(locked);
    if (image === null) continue;
    images.set(cell, image);
    if (locked.manifest !== undefined) manifests.set(cell, { ...locked.manifest, digest: image.digest });
  }
  const published = await publishIndex({ ...options, reference, name, version, prefer, images, manifests });
  return { reference, missing: [], published };
}
