/** Finds what names an image as its subject: by the referrers API, and by its fallback tag. */

import { isIndexType } from "../media-types.ts";
import type { Manifest, Subject } from "../descriptor.ts";
import { withTag } from "../reference.ts";
import { referrersTag } from "./attachment-tags.ts";
import type { AdviceOptions, EvidenceReader, Referrer } from "./client.ts";
import { parseReferrers } from "./referrers.ts";

/** The manifests of both lists whose subject is the image: a registry may have got the API after the tags. */
export async function findReferrers(
  registry: Pick<EvidenceReader, "readManifest" | "readReferrers">,
  subject: Subject,
  advice: AdviceOptions = {},
): Promise<readonly Referrer[]> {
  const { reference, digest } = subject;
  const [listed, tagged] = await Promise.all([
    registry.readReferrers(reference, digest, advice),
    registry.readManifest(withTag(reference, referrersTag(digest)), advice),
  ]);
  const all = [...(listed ?? []), ...(taggedReferrers(tagged, subject) ?? [])];
  return [...new Map(all.map((each) => [each.digest, each])).values()];
}

/** null if the tag holds no list: GitLab answers `sha256-<hex>` with the image itself (oras-project/oras#2148). */
export function taggedReferrers(
  held: Manifest | null,
  { digest }: Pick<Subject, "digest">,
): readonly Referrer[] | null {
  const isList = held !== null && isIndexType(held.mediaType) && held.digest !== digest;
  return isList ? parseReferrers(held.bytes) : null;
}
