/** Signatures as cosign 2 leaves them beside an image, made here, in a registry in memory. */

import { generateKeyPairSync, sign } from "node:crypto";
import type { Digest } from "../../../src/oci/digest.ts";
import { type ImageReference, withTag } from "../../../src/oci/reference.ts";
import { signatureTag } from "../../../src/oci/registry/attachment-tags.ts";
import { layerAnnotations, simpleSigningType } from "../../../src/trust/evidence.ts";
import type { TrustedKey } from "../../../src/trust/trusted-signers.ts";
import type { MemoryRegistry } from "../../fleet/publish/support/memory-registry.ts";

export interface TestKey {
  readonly signer: TrustedKey;
  /** Leaves a signature of the digest in the registry, in place of those that it had. */
  readonly sign: (registry: MemoryRegistry, reference: ImageReference, digest: Digest) => Promise<void>;
}

export function createTestKey(name = "cosign.pub"): TestKey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
  return {
    signer: { kind: "key", name, pem },
    sign: async (registry, reference, digest) => {
      const critical = {
        identity: { "docker-reference": "registry.example.com/anything" },
        image: { "docker-manifest-digest": digest },
        type: "cosign container image signature",
      };
      const payload = Buffer.from(JSON.stringify({ critical, optional: null }));
      const layer = {
        mediaType: simpleSigningType,
        digest: registry.pushBlob(payload),
        size: payload.length,
        annotations: {
          [layerAnnotations.signature]: sign("sha256", payload, privateKey).toString("base64"),
        },
      };
      const mediaType = "application/vnd.oci.image.manifest.v1+json";
      const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, layers: [layer] }));
      const manifest = { digest: registry.pushBlob(bytes), mediaType, size: bytes.length, bytes };
      await registry.writeManifest(withTag(reference, signatureTag(digest)), manifest);
    },
  };
}
