/** Whether what was found in a registry proves that one of these signers signed exactly this digest. */

import { InternalError } from "../errors.ts";
import { checked, fields, oneOf, text } from "../input/checks.ts";
import { parseJson } from "../input/json.ts";
import { isDigest } from "../oci/digest.ts";
import { base64, type Evidence, signPredicate, type SimpleSigning } from "./evidence.ts";
import { type Failure, unproven } from "./failures.ts";
import type { Subject } from "./find-evidence.ts";
import { isSignedBy, parsePublicKey } from "./public-key.ts";
import { describeSigner, type IdentitySigner, type KeySigner, type Signer } from "./signer.ts";
import { preAuthentication, readBundle, readStatement, type Statement } from "./statement.ts";

export interface Verified {
  /** The one of those that were asked for. */
  readonly signer: Signer;
  readonly format: Evidence["format"];
  /** What the certificate says; null where a key was asked for. */
  readonly identity: Identity | null;
  /** What was signed of the image; null in simple signing, which says nothing but the digest. */
  readonly statement: Statement | null;
}

export interface Identity {
  readonly name: string;
  readonly issuer: string;
}

export interface VerifyOptions {
  /** `trusted_root.json` of the public sigstore, for identities that bring none. Default: by TUF, from the network. */
  readonly publicRoot?: () => Promise<string>;
  /** Of the statements that count. Default: plain signatures. */
  readonly predicateType?: string;
}

/**
 * The first evidence that proves it. One signer of the list is enough. A signature counts for a digest, not for a name: simple signing's
 * `docker-reference` is not compared, because a mirror has another one for the same image; cosign does not compare it either.
 *
 * Throws with exit code 6 `SIGNATURE_MISSING` without evidence, else the code that says most of why none counts:
 * `SIGNATURE_OTHER_DIGEST`, `CERTIFICATE_EXPIRED`, `SIGNATURE_INVALID`, `SIGNATURE_WRONG_SIGNER`; `KEY_INVALID` and
 * `TRUSTED_ROOT_INVALID` for what the signers are described by.
 *
 * @example
 * const evidence = await findEvidence(registry, { reference, digest });
 * await verifyEvidence(evidence, { reference, digest }, [{ kind: "key", name: "cosign.pub", pem }]);
 */
export async function verifyEvidence(
  evidence: readonly Evidence[],
  subject: Subject,
  signers: readonly Signer[],
  options: VerifyOptions = {},
): Promise<Verified> {
  if (signers.length === 0) throw new InternalError("nobody was named who may have signed");
  const failures: Failure[] = [];
  for (const signer of signers) {
    const judge = await judgeOf(signer, options);
    for (const each of evidence) {
      const verdict = await judge(each, subject);
      if (!("why" in verdict)) return { signer, format: each.format, ...verdict };
      failures.push(verdict);
    }
  }
  throw unproven(subject, signers.map(describeSigner).join(", or "), failures);
}

export type Proof = Pick<Verified, "identity" | "statement">;
type Judge = (evidence: Evidence, subject: Subject) => Promise<Proof | Failure>;

async function judgeOf(signer: Signer, options: VerifyOptions): Promise<Judge> {
  const { predicateType = signPredicate } = options;
  if (signer.kind === "key") return keyJudge(signer, predicateType);
  return identityJudge(signer, predicateType, options);
}

function keyJudge(signer: KeySigner, predicateType: string): Judge {
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
    return read.hint === key.hint ? damaged("it names this key, which did not sign it") : byOther;
  };
}

async function identityJudge(
  _signer: IdentitySigner,
  _predicateType: string,
  _options: VerifyOptions,
): Promise<Judge> {
  throw new InternalError("identities are not verified yet");
}

/** Of a bundle whose signature is good: whether it is about this image. */
export function bundleProof(
  content: string,
  { digest }: Subject,
  predicateType: string,
  identity: Identity | null,
): Proof | Failure {
  const read = readBundle(content);
  const statement = typeof read === "string" ? read : readStatement(read.envelope);
  if (typeof statement === "string") return damaged(statement);
  if (statement.predicateType !== predicateType)
    return damaged(`it states ${statement.predicateType} where ${predicateType} is asked for`);
  if (statement.subjects.some(({ sha256 }) => `sha256:${sha256}` === digest)) return { identity, statement };
  return ofOther(statement.subjects.map(({ sha256 }) => `sha256:${sha256}`).join(", ") || "nothing");
}

const simplePayload = fields({
  critical: fields({
    type: oneOf("cosign container image signature", "atomic container signature"),
    image: fields({
      "docker-manifest-digest": text({ test: isDigest }, "a digest"),
    }),
  }),
});

/** The same of simple signing (containers/image, docs/containers-signature.5.md). */
export function simpleProof(
  { payload }: Pick<SimpleSigning, "payload">,
  { digest }: Subject,
  identity: Identity | null,
): Proof | Failure {
  if (!base64.test(payload)) return damaged("its payload is not base64");
  const reading = checked(parseJson(Buffer.from(payload, "base64")), simplePayload, "its payload");
  if (!reading.ok) return damaged(reading.mistakes.join("; "));
  const signed = reading.value.critical.image["docker-manifest-digest"];
  return signed === digest ? { identity, statement: null } : ofOther(signed);
}

function damaged(what: string): Failure {
  return { code: "SIGNATURE_INVALID", why: `has a signature that is not one: ${what}` };
}

function ofOther(signed: string): Failure {
  return { code: "SIGNATURE_OTHER_DIGEST", why: `has a good signature of ${signed}` };
}
