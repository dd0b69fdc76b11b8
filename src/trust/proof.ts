/** Proves that a good signature is about one image, and not about another image. */

import { checked, fields, oneOf, text } from "../io/checks.ts";
import { parseJson } from "../io/json.ts";
import { isDigest } from "../oci/digest.ts";
import { base64, type Failure, type ReadEvidence, type SimpleSigning } from "./evidence.ts";
import type { Subject } from "../oci/descriptor.ts";
import { readBundle, readStatement } from "./statement.ts";

export interface Identity {
  readonly name: string;
  readonly issuer: string;
}

export interface Proof {
  /** The identity in the certificate; null if a key was asked for. */
  readonly identity: Identity | null;
}

/** Judges one piece of evidence by one trusted signer. */
export type Judge = (evidence: ReadEvidence, subject: Subject) => Promise<Proof | Failure>;

/** Takes a bundle whose signature is good. */
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
  if (statement.subjects.includes(digest)) return { identity };
  return ofOther(statement.subjects.join(", ") || "nothing");
}

const simplePayload = fields({
  critical: fields({
    type: oneOf("cosign container image signature", "atomic container signature"),
    image: fields({
      "docker-manifest-digest": text({ test: isDigest }, "a digest"),
    }),
  }),
});

/** Takes simple signing whose signature is good (containers/image, docs/containers-signature.5.md). */
export function simpleProof(
  { payload }: Pick<SimpleSigning, "payload">,
  { digest }: Subject,
  identity: Identity | null,
): Proof | Failure {
  if (!base64.test(payload)) return damaged("its payload is not base64");
  const reading = checked(parseJson(Buffer.from(payload, "base64")), simplePayload, "its payload");
  if (!reading.ok) return damaged(reading.mistakes.join("; "));
  const signed = reading.value.critical.image["docker-manifest-digest"];
  return signed === digest ? { identity } : ofOther(signed);
}

export function damaged(what: string): Failure {
  return { code: "SIGNATURE_INVALID", why: `has a signature that is not one: ${what}` };
}

function ofOther(signed: string): Failure {
  return { code: "SIGNATURE_OTHER_DIGEST", why: `has a good signature of ${signed}` };
}
