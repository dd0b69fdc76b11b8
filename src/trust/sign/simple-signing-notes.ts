/** Proofs beside a signature, as annotations of simple signing have them (sigstore/cosign, specs/SIGNATURE_SPEC.md). */

import type { Bundle } from "@sigstore/bundle";

type Material = Bundle["verificationMaterial"];
type LogEntry = Material["tlogEntries"][number];

/** PEM of the signer's; null where it signs with a key. */
export function certificateText(content: Material["content"]): string | null {
  if (content.$case === "publicKey") return null;
  const der =
    content.$case === "certificate"
      ? content.certificate.rawBytes
      : content.x509CertificateChain.certificates[0]?.rawBytes;
  if (der === undefined) return null;
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

/** null where the log has promised nothing: Rekor 2 does not, and the form has no place for its proof. */
export function logEntryText(entry: LogEntry): string | null {
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

export function timestampText({ signedTimestamp }: { readonly signedTimestamp: Buffer }): string {
  return JSON.stringify({ SignedRFC3161Timestamp: signedTimestamp.toString("base64") });
}
