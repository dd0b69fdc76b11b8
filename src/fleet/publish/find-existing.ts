/** What a tag already holds, and whether that is the image that would be built. */

import type { FindRequest } from "../build/publisher.ts";
import { ImgmatchError } from "../../errors.ts";
import type { StoredBlobs } from "../../oci/registry/stored-blobs.ts";
import type { Digest } from "../../oci/digest.ts";
import { formatImageReference, withDigest } from "../../oci/reference.ts";
import type { ManifestDescriptor, RegistryClient } from "../../oci/registry/client.ts";
import { findImageConfig } from "../../oci/registry/platform-image.ts";
import { inputsLabel } from "../../oci/build-words.ts";

export interface ExistingQuery extends FindRequest {
  readonly registry: RegistryClient;
}

/** What a tag holds, and what that takes in the registry. */
export interface ExistingImage extends ManifestDescriptor {
  readonly blobs: StoredBlobs | null;
}

/**
 * The image under the tag when it was made of the same inputs, null when there is no such tag.
 * Throws `TAG_CONFLICT`, with both digests, when the tag holds anything else: an existing tag is never given another content.
 */
export async function findExisting(query: ExistingQuery): Promise<ExistingImage | null> {
  const { registry, reference, platform, inputDigest } = query;
  const found = await registry.findManifest(reference);
  if (found === null) return null;
  // By digest, so that what is compared is what is adopted, whatever happens to the tag meanwhile.
  const image = await findImageConfig(registry, withDigest(reference, found.digest), platform);
  if (image === null) {
    // Removed since, or a tag of nothing: which is still no place for something else.
    const now = await registry.findManifest(reference);
    if (now?.digest === found.digest) throw conflict(query, found.digest, "which the registry does not have");
    return now === null ? null : findExisting(query);
  }
  if ("isNot" in image)
    throw conflict(query, found.digest, `which is no image for ${platform}: ${image.isNot}`);
  const inputs = image.config.labels[inputsLabel];
  if (inputs === inputDigest) return { ...found, blobs: image.blobs };
  throw conflict(
    query,
    found.digest,
    inputs === undefined ? `with no ${inputsLabel} label` : `with inputs ${inputs}`,
  );
}

function conflict(
  { reference, inputDigest, ours }: ExistingQuery,
  theirs: Digest,
  what: string,
): ImgmatchError {
  const tag = formatImageReference(reference);
  const mine = ours === undefined ? "this image" : ours;
  return new ImgmatchError({
    code: "TAG_CONFLICT",
    message: `${tag} already holds ${theirs} ${what}; ${mine} has inputs ${inputDigest}`,
    fix: "put {{inputs}} into the matrix's tag, raise its version, or remove the tag from the registry if nobody uses it",
  });
}
