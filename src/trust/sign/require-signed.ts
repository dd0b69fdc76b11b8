/** Requires a known signature of an image that is already under a tag, before this signer signs it too. */

import type { Subject } from "../evidence.ts";
import { ImgmatchError } from "../../errors.ts";
import { formatImageReference, withDigest } from "../../oci/reference.ts";
import type { EvidenceReader } from "../evidence-reader.ts";
import { findEvidence } from "../find-evidence.ts";
import type { TrustedSigner } from "../trusted-signers.ts";
import { verifyEvidence, type VerifyEvidenceOptions } from "../verify-evidence.ts";

export interface RequireSignedOptions {
  /** This signer, as others trust it; null if nothing here can verify its signatures. */
  readonly own: TrustedSigner | null;
  /** Further trusted signers: one of each list must have signed. Empty if no policy names any. Called if `own` has not signed. */
  readonly others: () => Promise<readonly (readonly TrustedSigner[])[]>;
  /** The fix of a refusal. */
  readonly fix: string;
}

/**
 * Anybody who can push can write the label of an image's inputs. A signer that trusts the label signs what a stranger has put there. Throws
 * with exit code 6 as `verifyEvidence` if neither this signer nor those of the policy have signed it, and `REGISTRY_…`.
 */
export async function requireSigned(
  registry: EvidenceReader,
  subject: Subject,
  { own, others, fix }: RequireSignedOptions,
  options: VerifyEvidenceOptions = {},
): Promise<void> {
  const evidence = await findEvidence(registry, subject);
  const bySome = (signers: readonly TrustedSigner[]) => verifyEvidence(evidence, subject, signers, options);
  const refusal = own === null ? unknowable(subject) : await refusalOf(bySome([own]));
  if (refusal === null) return;
  const lists = await others();
  const last = lists.length === 0 ? refusal : await refusalOf(Promise.all(lists.map(bySome)));
  if (last !== null) throw new ImgmatchError({ ...last.problems[0], fix }, { cause: last });
}

/** null if a trusted signer has signed. */
async function refusalOf(judging: Promise<unknown>): Promise<ImgmatchError | null> {
  try {
    await judging;
    return null;
  } catch (error) {
    if (isRefusal(error)) return error;
    throw error;
  }
}

function isRefusal(error: unknown): error is ImgmatchError {
  return error instanceof ImgmatchError && error.exitCode === 6;
}

function unknowable({ reference, digest }: Subject): ImgmatchError {
  return new ImgmatchError({
    code: "SIGNATURE_MISSING",
    message: `${formatImageReference(withDigest(reference, digest))} was there already, and without --sign-root imgmatch cannot tell whether this signer signed it`,
  });
}
