/** Reads the signed content of a bundle: a statement of in-toto in an envelope of DSSE. */

import { checked, fields, ifPresent, list, someText, text } from "../io/checks.ts";
import { fieldsOf, parseJson } from "../io/json.ts";
import type { Digest } from "../oci/digest.ts";
import { base64 } from "./evidence.ts";

export interface Statement {
  readonly predicateType: string;
  /** The artifacts that it is about. */
  readonly subjects: readonly Digest[];
  /** Unchecked. */
  readonly predicate: unknown;
}

export interface Envelope {
  readonly payloadType: string;
  readonly payload: Buffer;
  readonly signatures: readonly Buffer[];
}

export const statementType = "application/vnd.in-toto+json";
export const statementVersion = "https://in-toto.io/Statement/v1";

const encoded = text(base64, "base64");
const envelopeFields = fields({
  payloadType: someText,
  payload: encoded,
  signatures: list(fields({ sig: encoded }), 10),
});
const statementFields = fields({
  _type: text(/^https:\/\/in-toto\.io\/Statement\/v(?:0\.1|1)$/, "an in-toto statement"),
  predicateType: someText,
  subject: list(
    fields({
      name: ifPresent(text()),
      digest: fields({ sha256: ifPresent(text(/^[0-9a-f]{64}$/, "64 hexadecimal digits")) }),
    }),
    10_000,
  ),
});

/**
 * The envelope, and the hint that names the key: null with a certificate or nothing. A text is the fault. The numbers of the bundle's
 * protobuf form are left to the libraries.
 */
export function readBundle(
  content: string,
): { readonly envelope: Envelope; readonly hint: string | null } | string {
  const bundle = fieldsOf(parseJson(content));
  const reading = checked(bundle.dsseEnvelope, envelopeFields, "dsseEnvelope");
  if (!reading.ok) return reading.mistakes.join("; ");
  const { payloadType, payload, signatures } = reading.value;
  const { hint } = fieldsOf(fieldsOf(bundle.verificationMaterial).publicKey);
  return {
    hint: typeof hint === "string" ? hint : null,
    envelope: {
      payloadType,
      payload: Buffer.from(payload, "base64"),
      signatures: signatures.map(({ sig }) => Buffer.from(sig, "base64")),
    },
  };
}

/** A text is the fault. */
export function readStatement({ payloadType, payload }: Envelope): Statement | string {
  if (payloadType !== statementType) return `payloadType: expected ${statementType}, found ${payloadType}`;
  const json = parseJson(payload);
  const reading = checked(json, statementFields, "the statement");
  if (!reading.ok) return reading.mistakes.join("; ");
  const { predicateType, subject } = reading.value;
  return {
    predicateType,
    subjects: subject.flatMap(({ digest: { sha256 } }): Digest[] =>
      sha256 === undefined ? [] : [`sha256:${sha256}`],
    ),
    predicate: fieldsOf(json).predicate,
  };
}

/** The bytes to sign: type and payload, with their lengths (DSSE, protocol.md, "pre-authentication encoding"). */
export function preAuthentication({
  payloadType,
  payload,
}: Pick<Envelope, "payloadType" | "payload">): Buffer {
  const type = Buffer.from(payloadType);
  return Buffer.concat([
    Buffer.from(`DSSEv1 ${type.byteLength} `),
    type,
    Buffer.from(` ${payload.byteLength} `),
    payload,
  ]);
}
