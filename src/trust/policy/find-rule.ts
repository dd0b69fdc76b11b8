/** The demands of a policy on one repository: its most specific rule. */

import { ImgmatchError } from "../../errors.ts";
import { formatRepository, type ImageReference } from "../../oci/reference.ts";
import { matchesRepository, moreSpecific, type TrustPolicy, type TrustRule } from "./policy.ts";

/**
 * null where the policy asks nothing. Throws `TRUST_NO_RULE` for a repository that no rule names, unless the policy's default says
 * otherwise, and `TRUST_POLICY` where two rules say as much of it and differ.
 */
export function findRule(policy: TrustPolicy, reference: ImageReference): TrustRule | null {
  const [first, second] = policy.rules
    .filter(({ pattern }) => matchesRepository(pattern, reference))
    .sort((one, other) => moreSpecific(other.pattern, one.pattern));
  const repository = formatRepository(reference);
  if (first === undefined) {
    if (policy.otherwise === "unsigned") return null;
    throw new ImgmatchError({
      code: "TRUST_NO_RULE",
      message: `the policy has no rule for ${repository}`,
      fix: `add ${reference.registry}/${reference.repository} to repositories`,
      at: { file: policy.file },
    });
  }
  if (second !== undefined && moreSpecific(first.pattern, second.pattern) === 0)
    throw new ImgmatchError({
      code: "TRUST_POLICY",
      message: `${first.pattern.text} and ${second.pattern.text} both name ${repository}, and neither is more specific`,
      fix: `add ${reference.registry}/${reference.repository} to repositories`,
      at: first.at,
    });
  return first;
}
