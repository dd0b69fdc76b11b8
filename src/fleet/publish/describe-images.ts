/** Makes entries of an index from published images: each with the type and size of its manifest. */

import pLimit from "p-limit";
import { type Problem, throwProblems } from "../../errors.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import type { ManifestDescriptor } from "../../oci/descriptor.ts";
import type { IndexEntry, IndexedImage } from "../../lock/fleet-index.ts";
import { listedTags } from "../../oci/registry/tags.ts";
import { isIndexType } from "../../oci/media-types.ts";
import { selectPlatformManifest } from "../../oci/registry/platform-image.ts";
import { type ImageReference, withDigest } from "../../oci/reference.ts";

export interface DescribeRequest {
  readonly registry: RegistryClient;
  readonly reference: ImageReference;
  readonly images: ReadonlyMap<string, IndexedImage>;
  /** The manifests that the lock has. Default: none, and the registry is asked about each. */
  readonly manifests?: ReadonlyMap<string, ManifestDescriptor> | undefined;
}

const atOnce = 16;
// So many single questions cost about as much as listing the tags of a large repository.
const fewImages = 32;

/**
 * The present index is no source: whoever can write its tag can write anything there. Of many images, those whose tag the registry lists are
 * taken as the lock describes them: a page of tags saves a thousand questions. Throws `REGISTRY_FAILED`, with every image that is gone.
 */
export async function describeImages(request: DescribeRequest) {
  const { registry, reference, images, manifests = new Map<string, ManifestDescriptor>() } = request;
  const entries = new Map<string, IndexEntry>();
  const noted = [...images].filter(([cell, { digest }]) => {
    const manifest = manifests.get(cell);
    return manifest?.digest === digest && !isIndexType(manifest.mediaType);
  });
  const listed = noted.length > fewImages ? await listedTags(registry, reference) : null;
  // Cells whose manifests were taken from the lock because the registry lists their tags.
  const assumed: string[] = [];
  for (const [cell, image] of noted) {
    const descriptor = manifests.get(cell);
    if (descriptor === undefined || !listed?.has(image.tag)) continue;
    entries.set(cell, { image, descriptor });
    assumed.push(cell);
  }
  const problems: Problem[] = [];
  const others = [...images].filter(([cell]) => !entries.has(cell));
  await pLimit(atOnce).map(others, async ([cell, image]) => {
    const descriptor = await describe(registry, reference, image);
    if (descriptor !== null) entries.set(cell, { image, descriptor });
    else problems.push(gone(cell, image));
  });
  throwProblems(problems);
  return { entries, assumed };
}

function gone(cell: string, { digest }: IndexedImage): Problem {
  return {
    code: "REGISTRY_FAILED",
    message: `the registry does not have ${digest}, which the lock names for ${cell}`,
    fix: "imgmatch verify lists all that is missing; remove such cells from the lock and build them again",
  };
}

/** Engines that attach attestations push an index; the fleet's index names the image inside, which every engine can pull. */
async function describe(
  registry: RegistryClient,
  reference: ImageReference,
  { digest, platform }: IndexedImage,
): Promise<ManifestDescriptor | null> {
  const found = await registry.findManifest(withDigest(reference, digest));
  if (found === null || !isIndexType(found.mediaType)) return found;
  const outer = await registry.readManifest(withDigest(reference, digest));
  if (outer === null) return null;
  return registry.findManifest(withDigest(reference, selectPlatformManifest(outer, reference, platform)));
}
