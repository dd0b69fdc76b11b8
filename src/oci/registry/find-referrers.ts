/** Finds what names an image as its subject: by the referrers API, and by its fallback tag. */

import type { Subject } from "../descriptor.ts";
import { withTag } from "../reference.ts";
import type { EvidenceReader, Referrer } from "./client.ts";
import { parseReferrers, referrersTag } from "./referrers.ts";

/** The manifests of both lists whose subject is the image: a registry may have got the API after the tags. */
export async function findReferrers(
  registry: Pick<EvidenceReader, "readManifest" | "readReferrers">,
  { reference, digest }: Subject,
): Promise<readonly Referrer[]> {
  const [listed, tagged] = await Promise.all([
    registry.readReferrers(reference, digest),
    registry.readManifest(withTag(reference, referrersTag(digest))),
  ]);
  const all = [...(listed ?? []), ...((tagged && parseReferrers(tagged.bytes)) ?? [])];
  return [...new Map(all.map((each) => [each.digest, each])).values()];
}
