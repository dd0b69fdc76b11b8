/** Verifies signatures of identities by sigstore's libraries: certificate, issuer, promises of the logs, times. */

import { createHash, X509Certificate } from "node:crypto";
import { type Bundle, bundleFromJSON } from "@sigstore/bundle";
import { TrustedRoot } from "@sigstore/protobuf-specs";
import {
  type SignedEntity,
  toSignedEntity,
  toTrustMaterial,
  VerificationError,
  Verifier,
} from "@sigstore/verify";
import { faultOf, ImgmatchError } from "../errors.ts";
import { checked, fields, text, wholeNumber } from "../io/checks.ts";
import { fieldsOf, parseJson } from "../io/json.ts";
import { attempt } from "../io/attempt.ts";
import { base64, type Failure, type ReadEvidence, type SimpleSigning } from "./evidence.ts";
import { bundleProof, damaged, type Identity, type Judge, simpleProof } from "./proof.ts";
import { preAuthentication } from "./statement.ts";
import { type TrustedIdentity, isNamed } from "./trusted-signers.ts";

/**
 * A certificate lives for minutes. The time of signing is the time that a log or a timestamp authority has confirmed, never this machine's
 * clock. If the root names transparency logs, one of them must have the signature. If the root names certificate logs, one of them must have
 * the certificate. Throws `TRUSTED_ROOT_INVALID`.
 */
export function checkByIdentity(signer: TrustedIdentity, root: string, predicateType: string): Judge {
  const verifier = verifierOf(root);
  return async (evidence, subject) => {
    const bundle = bundleOf(evidence);
    if (typeof bundle === "string") return damaged(bundle);
    const { $case } = bundle.verificationMaterial.content;
    if ($case === "publicKey")
      return { code: "SIGNATURE_WRONG_SIGNER", why: "is signed with a key, which names nobody" };
    const payload = evidence.format === "bundle" ? undefined : Buffer.from(evidence.payload, "base64");
    const identity = verifiedIdentity(verifier, bundle, payload);
    if ("why" in identity) return identity;
    const { name, issuer } = identity;
    if (!isNamed(name, signer.identity) || !isNamed(issuer, signer.issuer))
      return { code: "SIGNATURE_WRONG_SIGNER", why: `is signed by ${name}, confirmed by ${issuer}` };
    return evidence.format === "bundle"
      ? bundleProof(evidence.content, subject, predicateType, identity)
      : simpleProof(evidence, subject, identity);
  };
}

/** Throws `TRUSTED_ROOT_INVALID`. */
export function verifierOf(text: string): Verifier {
  const json = fieldsOf(parseJson(text));
  const isRoot = /^application\/vnd\.dev\.sigstore\.trustedroot/.test(String(json.mediaType));
  const root = isRoot ? attempt(() => TrustedRoot.fromJSON(json), null) : null;
  const material = root === null ? null : attempt(() => toTrustMaterial(root), null);
  if (root === null || material === null || material.certificateAuthorities.length === 0)
    throw badRoot("the trusted root is not one of sigstore, or has no certificate authority");
  const logs = [...root.tlogs, ...root.ctlogs];
  if (logs.some(({ publicKey }) => publicKey?.validFor?.start === undefined))
    throw badRoot("the trusted root does not say from when on the key of a log is valid");
  return new Verifier(material, {
    ctlogThreshold: Math.min(1, material.ctlogs.length),
    tlogThreshold: Math.min(1, material.tlogs.length),
    timestampThreshold: 1,
  });
}

function badRoot(message: string): ImgmatchError {
  return new ImgmatchError({
    code: "TRUSTED_ROOT_INVALID",
    message,
    fix: "write it with cosign trusted-root create",
  });
}

/**
 * A signature that makes the libraries throw does not count: anybody may have written it.
 *
 * @param signed what a bundle without an envelope signs
 */
export function verifiedIdentity(verifier: Verifier, bundle: Bundle, signed?: Buffer): Identity | Failure {
  if (namesNoLog(bundle)) return damaged("a checkpoint is signed by a name that is none");
  let entity: SignedEntity | null = null;
  try {
    entity = asLogged(toSignedEntity(bundle, signed), bundle);
    const { identity } = verifier.verify(entity);
    const { subjectAlternativeName: name, extensions } = identity ?? {};
    if (!name || !extensions?.issuer) return damaged("its certificate names nobody, or not who confirmed it");
    return { name, issuer: extensions.issuer };
  } catch (error) {
    const why = error instanceof TypeError ? "a part of its bundle is missing" : faultOf(error);
    const isOfCertificate = error instanceof VerificationError && error.code === "CERTIFICATE_ERROR";
    const late = isOfCertificate && entity !== null ? outside(entity) : null;
    return late === null ? damaged(why) : { code: "CERTIFICATE_EXPIRED", why: late };
  }
}

/**
 * The verifier takes the name of who signed a checkpoint for a regular expression, before it knows whose the bundle is: some expressions run
 * for hours. Names have neither spaces nor plus signs (C2SP, signed-note), and those of logs are host names and paths.
 */
function namesNoLog({ verificationMaterial: { tlogEntries } }: Bundle): boolean {
  return tlogEntries.some(({ inclusionProof }) =>
    [...(inclusionProof?.checkpoint?.envelope ?? "").matchAll(/\u2014 (\S+) /g)].some(
      ([, name = ""]) => !/^[\w.:/@~%=-]+$/.test(name),
    ),
  );
}

/**
 * Rekor 2 can log an envelope as any other file: by the digest of what is signed (rekor-v2-spec, 6.1.4). The verifier compares the digest of
 * the payload alone. It takes an entry's kind from what the log has signed.
 */
function asLogged(entity: SignedEntity, { content }: Bundle): SignedEntity {
  const { signature, tlogEntries } = entity;
  const isOther = tlogEntries.some(({ kindVersion }) => kindVersion?.kind !== "hashedrekord");
  if (content.$case !== "dsseEnvelope" || isOther) return entity;
  const digest = createHash("sha256").update(preAuthentication(content.dsseEnvelope)).digest();
  return {
    ...entity,
    signature: {
      signature: signature.signature,
      compareDigest: (logged) => digest.equals(logged),
      compareSignature: (logged) => signature.compareSignature(logged),
      verifySignature: (key) => signature.verifySignature(key),
    },
  };
}

/** The fault if one of its times lies outside the certificate's; null if none does. */
function outside({ key, timestamps }: SignedEntity): string | null {
  if (key.$case === "public-key") return null;
  const { certificate } = key;
  const validity = attempt(() => [certificate.notBefore, certificate.notAfter] as const, null);
  if (validity === null) return null;
  const [from, to] = validity;
  const times = timestamps.map((each) =>
    each.$case === "transparency-log"
      ? new Date(Number(each.tlogEntry.integratedTime) * 1000)
      : each.timestamp.signingTime,
  );
  const wrong = times.find((time) => time < from || time > to);
  return wrong === undefined
    ? null
    : `was signed at ${wrong.toISOString()} with a certificate of ${from.toISOString()} to ${to.toISOString()}`;
}

/** A text is the fault. */
function bundleOf(evidence: ReadEvidence): Bundle | string {
  const json = evidence.format === "bundle" ? parseJson(evidence.content) : simpleBundle(evidence);
  if (typeof json === "string") return json;
  const bundle = attempt(() => bundleFromJSON(json), null);
  if (bundle === null) return "it is no bundle of sigstore";
  // Otherwise the signature of a file would be verified, and an envelope beside it read.
  const isEnvelope = bundle.content.$case === "dsseEnvelope";
  return isEnvelope === (evidence.format === "bundle") ? bundle : "it signs no statement";
}

const logEntry = fields({
  SignedEntryTimestamp: text(base64, "base64"),
  Payload: fields({
    body: text(base64, "base64"),
    integratedTime: wholeNumber,
    logIndex: wholeNumber,
    logID: text(/^[0-9a-f]{64}$/, "64 hexadecimal digits"),
  }),
});
const timestampNote = fields({ SignedRFC3161Timestamp: text(base64, "base64") });

/** Simple signing in the form of a bundle, as JSON; a text is the fault. */
function simpleBundle({ payload, signature, certificate, log, timestamp }: SimpleSigning): object | string {
  const x509 = certificate === null ? null : attempt(() => new X509Certificate(certificate), null);
  const entry = log === null ? null : checked(parseJson(log), logEntry, "its log entry");
  const stamp = timestamp === null ? null : checked(parseJson(timestamp), timestampNote, "its timestamp");
  if (certificate !== null && x509 === null) return "its certificate is none";
  if (entry !== null && !entry.ok) return entry.mistakes.join("; ");
  if (stamp !== null && !stamp.ok) return stamp.mistakes.join("; ");
  const digest = createHash("sha256").update(Buffer.from(payload, "base64")).digest("base64");
  return {
    mediaType: "application/vnd.dev.sigstore.bundle+json;version=0.1",
    verificationMaterial: {
      ...(x509 === null
        ? { publicKey: { hint: "" } }
        : { x509CertificateChain: { certificates: [{ rawBytes: x509.raw.toString("base64") }] } }),
      tlogEntries: entry === null ? [] : [tlogEntry(entry.value)],
      timestampVerificationData: {
        rfc3161Timestamps: stamp === null ? [] : [{ signedTimestamp: stamp.value.SignedRFC3161Timestamp }],
      },
    },
    messageSignature: { messageDigest: { algorithm: "SHA2_256", digest }, signature },
  };
}

function tlogEntry({
  SignedEntryTimestamp: signedEntryTimestamp,
  Payload: { body, integratedTime, logIndex, logID },
}: NonNullable<ReturnType<typeof logEntry>>): object {
  const { kind, apiVersion } = fieldsOf(parseJson(Buffer.from(body, "base64")));
  return {
    logIndex: String(logIndex),
    logId: { keyId: Buffer.from(logID, "hex").toString("base64") },
    kindVersion: { kind: String(kind), version: String(apiVersion) },
    integratedTime: String(integratedTime),
    inclusionPromise: { signedEntryTimestamp },
    canonicalizedBody: body,
  };
}
