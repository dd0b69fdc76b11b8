/** Statements of in-toto in envelopes of DSSE: what is signed in a bundle. */

import { checked, fields, ifPresent, list, someText, text } from "../io/checks.ts";
import { fieldsOf, parseJson } from "../io/json.ts";
import { base64 } from "./evidence.ts";

export interface Statement {
  readonly predicateType: string;
  /** sha256 of what it is about, as hexadecimal digits, each with the name that it is given; a name may be empty. */
  readonly subjects: readonly { readonly name: string; readonly sha256: string }[];
  /** As it stands there: nobody has checked it. */
  readonly predicate: unknown;
}

export interface Envelope {
  readonly payloadType: string;
  readonly payload: Buffer;
  readonly signatures: readonly Buffer[];
}

export interface BundleContent {
  readonly envelope: Envelope;
  /** How it names the key; null where it has a certificate or nothing. */
  readonly hint: string | null;
}

export const statementType = "application/vnd.in-toto+json";

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

/** A text says what is wrong. Numbers of the bundle's protobuf form are not looked at: the libraries check those. */
export function readBundle(content: string): BundleContent | string {
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

/** A text says what is wrong. */
export function readStatement({ payloadType, payload }: Envelope): Statement | string {
  if (payloadType !== statementType) return `payloadType: expected ${statementType}, found ${payloadType}`;
  const json = parseJson(payload);
  const reading = checked(json, statementFields, "the statement");
  if (!reading.ok) return reading.mistakes.join("; ");
  const { predicateType, subject } = reading.value;
  return {
    predicateType,
    subjects: subject.flatMap(({ name, digest: { sha256 } }) =>
      sha256 === undefined ? [] : [{ name: name ?? "", sha256 }],
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
