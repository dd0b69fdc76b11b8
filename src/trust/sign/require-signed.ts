/** An image that somebody else has put under a tag is taken over, and signed, if its signer is known. */

import type { Subject } from "../evidence.ts";
import { ImgmatchError } from "../../errors.ts";
import { formatImageReference, withDigest } from "../../oci/reference.ts";
import type { EvidenceReader } from "../evidence-reader.ts";
import { findEvidence } from "../find-evidence.ts";
import type { TrustedSigner } from "../trusted-signers.ts";
import { verifyEvidence, type VerifyEvidenceOptions } from "../verify-evidence.ts";

export interface RequireSignedOptions {
  /** The present signer; null if nothing here can know its signatures again. */
  readonly own: TrustedSigner | null;
  /**
   * Further signers that count: one of each list has to have signed. Empty if no policy names any. Asked if the signer itself has not
   * signed.
   */
  readonly others: () => Promise<readonly (readonly TrustedSigner[])[]>;
  /** For a refusal. */
  readonly fix: string;
}

/**
 * An image's label of its inputs is what whoever pushed it has written: who signs all that has the right label signs what a stranger
 * has put there. Throws with exit code 6 as `verifyEvidence` where neither the signer nor those of the policy have signed it, and
 * `REGISTRY_…`.
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

/** null where it is believed. */
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
