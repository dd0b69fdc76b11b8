/** The index of a version from a lock alone: for images that others built, of which there is no matrix. */

import type { Lock } from "../lock/lock.ts";
import { parseImageReference, withTag } from "../oci/reference.ts";
import { versionTag } from "../plan/tag.ts";
import { publishIndex } from "./publish-index.ts";
import { namedImages, type PlanIndex, type PlanIndexOptions } from "./publish-plan-index.ts";

/** Throws as `publishPlanIndex` does. */
export async function publishAdopted(lock: Lock, options: PlanIndexOptions): Promise<PlanIndex> {
  const { name, version, prefer = [] } = lock;
  const reference = withTag(parseImageReference(lock.repository), versionTag(lock));
  const fix = "give the lock another version: imgmatch adopt --fleet-version";
  const images = namedImages(Object.entries(lock.images), reference, fix);
  const published = await publishIndex({ ...options, ...images, reference, name, version, prefer });
  return { reference, missing: [], published };
}
