/** Requires that a signed index was written for the place where imgmatch found it: a signature says nothing of the name above it. */

import { ImgmatchError } from "../../errors.ts";
import { matchesGlob } from "../../io/glob.ts";
import { formatImageReference, type ImageReference } from "../../oci/reference.ts";
import type { IndexPlace } from "./index-trust.ts";

/**
 * Throws `INDEX_FOREIGN` for an index that was written for another repository, or for another tag than the reference names without a digest.
 *
 * @param from the repository for which the index must have been written, with `*`
 */
export function requirePlace(
  reference: ImageReference,
  { repository, tag }: IndexPlace,
  from: string = reference.repository,
): void {
  if (repository === null || !matchesGlob(from, repository))
    throw foreignIndex(
      reference,
      `what was published in ${repository ?? "a repository that it does not name"}`,
      `publish it here; where this is a mirror or a copy, say so in the policy: repository: ${JSON.stringify(repository ?? "team/app")}`,
    );
  if (namesTag(reference) && tag !== reference.tag)
    throw foreignIndex(
      reference,
      `the index of ${tag === null ? "a tag that it does not name" : `the tag ${tag}`}`,
      "find out who wrote this tag; a name that moves is a channel of the matrix: imgmatch promote --channel --sign",
    );
}

export function namesTag({ tag, digest }: ImageReference): boolean {
  return tag !== null && digest === null;
}

/** `INDEX_FOREIGN`. */
export function foreignIndex(reference: ImageReference, what: string, fix: string): ImgmatchError {
  return new ImgmatchError({
    code: "INDEX_FOREIGN",
    message: `${formatImageReference(reference)} holds ${what}`,
    fix,
  });
}
