/** Requires that a signed index was written for the place where imgmatch found it: a signature says nothing of the name above it. */

import { foreignIndex, namesTag, requirePlace } from "../lock/store/index-place.ts";
import type { IndexPlace } from "../lock/store/index-trust.ts";
import type { ImageReference } from "../oci/reference.ts";
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
    throw foreignIndex(
      reference,
      `a fleet of the name ${JSON.stringify(index.name)}, not ${expected}`,
      `find out who wrote this tag; where the fleet has that name, say so in the policy: name: ${JSON.stringify(index.name)}`,
    );
  requirePlace(reference, index, rule.repository ?? repository);
}
