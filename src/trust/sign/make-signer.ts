/** Makes a signer of cosign's two forms of signature from a key or an identity. Logs and timestamp authorities confirm the time. */

import type { Bundle } from "@sigstore/bundle";
import type { Signer as SigstoreSigner, Witness } from "@sigstore/sign";
import { faultOf, InternalError } from "../../errors.ts";
import type { SimpleSigning } from "../evidence.ts";
import { isSignedBy, parsePublicKey } from "../public-key.ts";
import type { TrustedSigner } from "../trusted-signers.ts";
import { statementType } from "../statement.ts";
import { type Signer, type SigningKey, signingFailed, type SignServices } from "./signer.ts";

export function signWithKey(key: SigningKey, services: SignServices = {}): Signer {
  const { name, publicKey } = key;
  const known = parsePublicKey({ name, pem: publicKey });
  const sign: SigstoreSigner["sign"] = async (data) => {
    const signature = await key.sign(data);
    // Another program may have made it. A signature that nobody can verify is not published.
    if (!(await isSignedBy(known, data, signature)))
      throw signingFailed(name, "made a signature that its public key does not verify", "use another key");
    return { signature, key: { $case: "publicKey", publicKey } };
  };
  const own: TrustedSigner = { kind: "key", name, pem: publicKey };
  return makeSigner({ name, sign, hint: known.hint, asTrusted: async () => own }, services);
}

interface SignerParts extends Pick<Signer, "name" | "asTrusted">, SigstoreSigner {
  /** Names the key for a verifier who has many; null with a certificate. */
  readonly hint: string | null;
}

export function makeSigner(parts: SignerParts, services: SignServices): Signer {
  const { name, asTrusted, hint } = parts;
  const make = async (kind: "DSSEBundleBuilder" | "MessageSignatureBundleBuilder", data: Buffer) => {
    const sigstore = await import("@sigstore/sign");
    const witnesses: Witness[] = [];
    const { rekorUrl, timestampUrl } = services;
    if (rekorUrl !== undefined)
      witnesses.push(new sigstore.RekorWitness({ rekorBaseURL: rekorUrl, entryType: "dsse" }));
    if (timestampUrl !== undefined) witnesses.push(new sigstore.TSAWitness({ tsaBaseURL: timestampUrl }));
    const builder = new sigstore[kind]({ signer: parts, witnesses });
    const bundle = await builder.create({ data, type: statementType }).catch((error) => {
      throw signingFailure(name, error);
    });
    // The builder would also write it as `keyid` into the signature, which cosign then takes for another key's.
    const { content } = bundle.verificationMaterial;
    if (content.$case === "publicKey" && hint !== null) content.publicKey.hint = hint;
    return bundle;
  };
  return {
    name,
    asTrusted,
    async signStatement(statement) {
      const { bundleToJSON } = await import("@sigstore/bundle");
      const bundle = await make("DSSEBundleBuilder", Buffer.from(JSON.stringify(statement)));
      return JSON.stringify(bundleToJSON(bundle));
    },
    signPayload: async (payload) =>
      simpleSigning(payload, await make("MessageSignatureBundleBuilder", Buffer.from(payload))),
  };
}

/** The proofs are those that annotations can hold (sigstore/cosign, specs/SIGNATURE_SPEC.md). */
function simpleSigning(payload: Uint8Array, { content, verificationMaterial }: Bundle): SimpleSigning {
  if (content.$case !== "messageSignature") throw new InternalError(`a bundle of ${content.$case}`);
  const [entry] = verificationMaterial.tlogEntries;
  const [timestamp] = verificationMaterial.timestampVerificationData?.rfc3161Timestamps ?? [];
  return {
    format: "simple-signing",
    payload: Buffer.from(payload).toString("base64"),
    signature: content.messageSignature.signature.toString("base64"),
    certificate: certificateText(verificationMaterial.content),
    chain: null,
    log: entry === undefined ? null : logEntryText(entry),
    timestamp:
      timestamp === undefined
        ? null
        : JSON.stringify({ SignedRFC3161Timestamp: timestamp.signedTimestamp.toString("base64") }),
  };
}

type Material = Bundle["verificationMaterial"];
type LogEntry = Material["tlogEntries"][number];

/** PEM of the signer's certificate; null with a key. */
function certificateText(content: Material["content"]): string | null {
  if (content.$case === "publicKey") return null;
  const der =
    content.$case === "certificate"
      ? content.certificate.rawBytes
      : content.x509CertificateChain.certificates[0]?.rawBytes;
  if (der === undefined) return null;
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

/** null if the log promises nothing: Rekor 2 does not, and the annotation has no place for its proof. */
function logEntryText(entry: LogEntry): string | null {
  const { inclusionPromise, logId, canonicalizedBody, integratedTime, logIndex } = entry;
  if (!inclusionPromise || !logId) return null;
  return JSON.stringify({
    SignedEntryTimestamp: inclusionPromise.signedEntryTimestamp.toString("base64"),
    Payload: {
      body: canonicalizedBody.toString("base64"),
      integratedTime: Number(integratedTime),
      logIndex: Number(logIndex),
      logID: logId.keyId.toString("hex"),
    },
  });
}

/** The libraries put the reason into the cause of their errors. */
export function signingFailure(name: string, error: unknown): unknown {
  const code = error instanceof Error && "code" in error ? error.code : null;
  // An error of our own, from the key.
  if (typeof code !== "string" || !/_ERROR$/.test(code)) return error;
  const said = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
  return signingFailed(
    name,
    `${faultOf(error)}${said}`,
    "check that Fulcio, Rekor and the timestamp authority can be reached, and that the token is fresh; then run it again",
    error,
  );
}
