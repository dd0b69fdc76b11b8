/** The registry's word, not the provider's: the tag must hold the same inputs, and what it holds is the reference. */

import { ImgmatchError } from "../errors.ts";
import type { Digest } from "../oci/digest.ts";
import { parseImageReference, withTag } from "../oci/reference.ts";
import type { ReadyCell } from "../fleet/build/jobs.ts";
import type { FoundImage, Publisher } from "../fleet/build/publisher.ts";

/** The digest in `repository@sha256:…`, or the whole of an engine's own id. */
export function digestIn(repoDigest: string): Digest {
  return repoDigest.slice(repoDigest.indexOf("@") + 1) as Digest;
}

/** What the registry holds behind the tag that was just pushed. Throws `REGISTRY_FAILED` where it has none. */
export async function readBack(
  { cell: { platform }, tag, inputDigest }: ReadyCell,
  repository: string,
  repoDigest: string,
  publisher: Publisher,
  run: "build" | "update",
): Promise<FoundImage> {
  const reference = withTag(parseImageReference(repository), tag);
  const found = await publisher.find({ reference, platform, inputDigest, ours: digestIn(repoDigest) });
  if (found !== null) return found;
  throw new ImgmatchError({
    code: "REGISTRY_FAILED",
    message: `the registry of ${repository}:${tag} does not have it right after it was pushed`,
    fix: `run the same ${run} again; if it stays, check the registry's storage and clean-up rules`,
  });
}
