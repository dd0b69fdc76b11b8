/** A plan's images → the index of their version. */

import { ImgmatchError } from "../errors.ts";
import { type ImageReference, parseImageReference, withTag } from "../oci/reference.ts";
import type { Plan } from "../plan/planned-cell.ts";
import { versionTag } from "../plan/tag.ts";
import type { ManifestDescriptor, RegistryClient } from "../registry/client.ts";
import { type IndexedImage, indexedImage } from "../registry/fleet-index.ts";
import { type PublishedIndex, publishIndex } from "./publish-index.ts";

export interface PlanIndexOptions {
  readonly registry: RegistryClient;
  readonly replace?: boolean;
  readonly signal?: AbortSignal;
  readonly settleMs?: number;
}

export interface PlanIndex {
  /** Where the index is: the repository with the version as tag. */
  readonly reference: ImageReference;
  /** Cells of the plan that are not published as the matrix says. */
  readonly missing: readonly string[];
  readonly published: PublishedIndex;
}

/**
 * Publishes the index of every image that the plan keeps and the registry has. What is yet to be built is left out and
 * named: an index must not say of an image what the matrix no longer says.
 * Throws as `publishIndex` does, `TAG_COLLISION` when an image has the version alone as its tag.
 */
export async function publishPlanIndex(plan: Plan, options: PlanIndexOptions): Promise<PlanIndex> {
  const { matrix, cells } = plan;
  const reference = withTag(parseImageReference(matrix.repository), versionTag(matrix));
  const images = new Map<string, IndexedImage>();
  const manifests = new Map<string, ManifestDescriptor>();
  const missing: string[] = [];
  for (const { cell, action, locked } of cells) {
    if (action === "keep" && locked !== null && locked.digest !== null) {
      const { tag, digest } = locked;
      if (tag === reference.tag) throw collision(cell.id, tag);
      if (locked.manifest !== undefined) manifests.set(cell.id, { ...locked.manifest, digest });
      const image = indexedImage(locked);
      if (image !== null) images.set(cell.id, image);
    } else if (action === "keep" || action === "build") missing.push(cell.id);
  }
  if (images.size === 0) {
    throw new ImgmatchError({
      code: "SELECTION_EMPTY",
      message: "no image of these cells is published, so there is nothing to make an index of",
      fix: "run imgmatch build --push",
    });
  }
  const { name, version, prefer } = matrix;
  return {
    reference,
    missing,
    published: await publishIndex({ ...options, reference, name, version, prefer, images, manifests }),
  };
}

function collision(cell: string, tag: string): ImgmatchError {
  return new ImgmatchError({
    code: "TAG_COLLISION",
    message: `the image of ${cell} has the tag ${tag}, which is the index's`,
    fix: "put {{cell}} into the tag template",
  });
}
