/** Verifies, by evidence from a registry, that a trusted signer has signed exactly this digest. */

import { InternalError } from "../errors.ts";
import {
  type Evidence,
  type Failure,
  type ReadEvidence,
  refusedEvidence,
  signPredicate,
  unproven,
} from "./evidence.ts";
import type { Subject } from "../oci/descriptor.ts";
import type { RootSource } from "../oci/trust-flags.ts";
import { bundleProof, damaged, type Judge, type Proof, simpleProof } from "./proof.ts";
import { isSignedBy, parsePublicKey } from "./public-key.ts";
import { describeTrusted, type TrustedKey, type TrustedSigner } from "./trusted-signers.ts";
import { preAuthentication, readBundle } from "./statement.ts";

export interface Verified extends Proof {
  /** The trusted signer that the evidence proves. */
  readonly signer: TrustedSigner;
  readonly format: ReadEvidence["format"];
}

export interface VerifyEvidenceOptions extends RootSource {
  /** Type of the statements that count. Default: plain signatures. */
  readonly predicateType?: string;
}

/**
 * Answers with the first proof. One signer of the list is enough. A signature counts for a digest, not for a name: simple signing's
 * `docker-reference` is not compared, as a mirror has another one for the same image. cosign does not compare it either.
 *
 * Throws `REGISTRY_FAILED` where nothing is proved and the registry has refused to show a place. Else throws with exit code 6: `SIGNATURE_MISSING` without evidence, else the most telling of `SIGNATURE_OTHER_DIGEST`, `CERTIFICATE_EXPIRED`,
 * `SIGNATURE_INVALID`, `SIGNATURE_WRONG_SIGNER`. Throws `KEY_INVALID` and `TRUSTED_ROOT_INVALID` for a bad description of a signer.
 *
 * @example
 * const evidence = await findEvidence(registry, { reference, digest });
 * await verifyEvidence(evidence, { reference, digest }, [{ kind: "key", name: "cosign.pub", pem }], { publicRoot });
 */
export async function verifyEvidence(
  evidence: readonly Evidence[],
  subject: Subject,
  signers: readonly TrustedSigner[],
  options: VerifyEvidenceOptions,
): Promise<Verified> {
  if (signers.length === 0) throw new InternalError("nobody was named who may have signed");
  const failures: Failure[] = [];
  for (const signer of signers) {
    const judge = await judgeOf(signer, options);
    for (const each of evidence) {
      if (each.format === "refused") continue;
      if (each.format === "unread") {
        const why = `has a signature that cannot be read: ${each.why}`;
        failures.push({ code: "SIGNATURE_INVALID", why });
        continue;
      }
      const verdict = await judge(each, subject);
      if (!("why" in verdict)) return { signer, format: each.format, ...verdict };
      failures.push(verdict);
    }
  }
  const wanted = signers.map(describeTrusted).join(", or ");
  const refused = evidence.filter((each) => each.format === "refused");
  if (refused.length > 0) throw refusedEvidence(subject, wanted, refused);
  throw unproven(subject, wanted, failures);
}

async function judgeOf(signer: TrustedSigner, options: VerifyEvidenceOptions): Promise<Judge> {
  const { predicateType = signPredicate } = options;
  if (signer.kind === "key") return checkByKey(signer, predicateType);
  // A part of its own: a node that trusts a key does not wait for it.
  const { checkByIdentity } = await import("./verify-identity.ts");
  const root = signer.trustedRoot ?? (await options.publicRoot());
  return checkByIdentity(signer, root, predicateType);
}

function checkByKey(signer: TrustedKey, predicateType: string): Judge {
  const key = parsePublicKey(signer);
  const byOther: Failure = { code: "SIGNATURE_WRONG_SIGNER", why: "is not signed by this key" };
  return async (evidence, subject) => {
    if (evidence.format === "simple-signing") {
      const { payload, signature } = evidence;
      const isGood = await isSignedBy(key, Buffer.from(payload, "base64"), Buffer.from(signature, "base64"));
      return isGood ? simpleProof(evidence, subject, null) : byOther;
    }
    const read = readBundle(evidence.content);
    if (typeof read === "string") return damaged(read);
    const message = preAuthentication(read.envelope);
    for (const signature of read.envelope.signatures)
      if (await isSignedBy(key, message, signature))
        return bundleProof(evidence.content, subject, predicateType, null);
    return read.hint === key.hint ? damaged("the signature names this key, and is of another key") : byOther;
  };
}
