/** What a tag already holds, and whether that is the image that would be built. */

import type { Digest } from "../oci/digest.ts";
import { ImgmatchError } from "../errors.ts";
import type { ManifestDescriptor, RegistryClient } from "../registry/client.ts";
import { readImageConfig } from "../registry/platform-image.ts";
import { formatImageReference, type ImageReference, withDigest } from "../oci/reference.ts";
import { inputsLabel } from "../render/metadata.ts";

export interface ExistingQuery {
  readonly registry: RegistryClient;
  /** With a tag. */
  readonly reference: ImageReference;
  /** `os/architecture`. */
  readonly platform: string;
  readonly inputDigest: Digest;
  /** Digest of what would be put there, where it is known: for the message of a conflict. */
  readonly ours?: Digest | undefined;
}

/**
 * The manifest under the tag when it was made of the same inputs, null when there is no such tag.
 * Throws `TAG_CONFLICT`, with both digests, when the tag holds anything else: an existing tag is never given another content.
 */
export async function findExisting(query: ExistingQuery): Promise<ManifestDescriptor | null> {
  const { registry, reference, platform, inputDigest } = query;
  const found = await registry.findManifest(reference);
  if (found === null) return null;
  // By digest, so that what is compared is what is adopted, whatever happens to the tag meanwhile.
  const image = await readImageConfig(registry, withDigest(reference, found.digest), platform);
  const inputs = image?.config.labels[inputsLabel] ?? null;
  if (inputs === inputDigest) return found;
  throw conflict(query, found.digest, inputs);
}

function conflict(
  { reference, inputDigest, ours }: ExistingQuery,
  theirs: Digest,
  theirInputs: string | null,
): ImgmatchError {
  const tag = formatImageReference(reference);
  const has = theirInputs === null ? `no ${inputsLabel} label` : `inputs ${theirInputs}`;
  const mine = ours === undefined ? "this image" : ours;
  return new ImgmatchError({
    code: "TAG_CONFLICT",
    message: `${tag} already holds ${theirs} with ${has}; ${mine} has inputs ${inputDigest}`,
    fix: "put {{inputs}} into the matrix's tag, raise its version, or remove the tag from the registry if nobody uses it",
  });
}
