/** Requires that a signed index was written for the place where imgmatch found it: a signature says nothing of the name above it. */

import { ImgmatchError } from "../errors.ts";
import { matchesGlob } from "../io/glob.ts";
import type { IndexPlace } from "../lock/store/index-trust.ts";
import { formatImageReference, type ImageReference } from "../oci/reference.ts";
import type { TrustRule } from "./policy/policy.ts";

export type ExpectedPlace = Pick<TrustRule, "name" | "repository">;

/**
 * Throws `INDEX_FOREIGN` for an index of another fleet, and as {@link requirePlace}. A reference with a digest names its index by itself.
 */
export function requireExpected(
  reference: ImageReference,
  index: IndexPlace & { readonly name: string },
  rule: ExpectedPlace,
): void {
  if (!namesTag(reference)) return;
  const { repository } = reference;
  const expected = rule.name ?? repository.slice(repository.lastIndexOf("/") + 1);
  if (index.name !== expected)
    throw foreign(
      reference,
      `a fleet of the name ${JSON.stringify(index.name)}, not ${expected}`,
      `find out who wrote this tag; where the fleet has that name, say so in the policy: name: ${JSON.stringify(index.name)}`,
    );
  requirePlace(reference, index, rule.repository ?? repository);
}

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
    throw foreign(
      reference,
      `what was published in ${repository ?? "a repository that it does not name"}`,
      `publish it here; where this is a mirror or a copy, say so in the policy: repository: ${JSON.stringify(repository ?? "team/app")}`,
    );
  if (namesTag(reference) && tag !== reference.tag)
    throw foreign(
      reference,
      `the index of ${tag === null ? "a tag that it does not name" : `the tag ${tag}`}`,
      "find out who wrote this tag; a name that moves is a channel of the matrix: imgmatch promote --channel --sign",
    );
}

function namesTag({ tag, digest }: ImageReference): boolean {
  return tag !== null && digest === null;
}

function foreign(reference: ImageReference, what: string, fix: string): ImgmatchError {
  return new ImgmatchError({
    code: "INDEX_FOREIGN",
    message: `${formatImageReference(reference)} holds ${what}`,
    fix,
  });
}
