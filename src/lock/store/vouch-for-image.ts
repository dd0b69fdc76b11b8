/** Requires a trusted signer's signature of one image, or of the index that names the image. */

import { ImgmatchError } from "../../errors.ts";
import { fieldsOf, parseJson } from "../../io/json.ts";
import type { Digest } from "../../oci/digest.ts";
import { type ImageReference, withDigest } from "../../oci/reference.ts";
import { fetchLock } from "./fetch-lock.ts";
import { indexFormat } from "../fleet-index.ts";
import type { FindTrust, IndexReader, SignedBy } from "./index-trust.ts";
import { formatOf } from "./read-fleet-index.ts";

/**
 * Answers with the signer; null if no signature is asked for. Throws with exit code 6 if no trusted signer has signed image or index, and
 * `REGISTRY_…`.
 *
 * @param digest of the image's manifest, which the reference names itself or by an index
 */
export async function vouchForImage(
  reference: ImageReference,
  digest: Digest,
  { registry, trust: find }: { readonly registry: IndexReader; readonly trust: FindTrust },
): Promise<SignedBy | null> {
  const trust = await find(reference);
  if (trust === null || !trust.asksSignature) return null;
  const vouch = async (subject: Digest): Promise<SignedBy | null> =>
    trust.vouch(subject, await trust.collect(registry, subject));
  try {
    return await vouch(digest);
  } catch (error) {
    const index = error instanceof ImgmatchError ? await indexOf(reference, digest, registry) : null;
    if (index === null) throw error;
    return vouch(index);
  }
}

/**
 * Adds to a tag the digest of what it holds, after that is judged: an index as `fetchFleet` does, anything else by its own signature. Answers
 * the reference as it is if nothing is asked for, or the registry has no such tag. Throws as {@link vouchForImage}.
 */
export async function vouchForTag(
  reference: ImageReference,
  { registry, trust: find }: { readonly registry: IndexReader; readonly trust: FindTrust },
): Promise<ImageReference> {
  const trust = await find(reference);
  const found = trust === null ? null : await registry.readManifest(reference);
  if (trust === null || found === null) return reference;
  if (formatOf(found) !== indexFormat) {
    await trust.vouch(found.digest, await trust.collect(registry, found.digest));
    return withDigest(reference, found.digest);
  }
  const asked = { connect: async () => registry, trust: async () => trust, tell: () => {} };
  const { indexDigest } = await fetchLock(reference, asked);
  return withDigest(reference, indexDigest);
}

/** The digest of the index under the reference; null if it does not name this image. */
async function indexOf(
  reference: ImageReference,
  digest: Digest,
  registry: IndexReader,
): Promise<Digest | null> {
  const top = await registry.readManifest(reference);
  const { manifests } = fieldsOf(top === null ? null : parseJson(top.bytes));
  const isNamed = Array.isArray(manifests) && manifests.some((each) => fieldsOf(each).digest === digest);
  return top !== null && isNamed ? top.digest : null;
}
