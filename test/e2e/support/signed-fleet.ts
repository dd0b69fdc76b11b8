/** Fleets in a real registry that keys of this test have signed, without an engine: small images, real indexes, real signatures. */

import { generateKeyPairSync, sign } from "node:crypto";
import type { Digest } from "../../../src/oci/digest.ts";
import { digestOf } from "../../../src/oci/digest-of.ts";
import { type ImageReference, parseImageReference, withTag } from "../../../src/oci/reference.ts";
import { publishIndex } from "../../../src/fleet/publish/publish-index.ts";
import { createRegistryClient } from "../../../src/oci/registry/create-client.ts";
import { signWithKey } from "../../../src/trust/sign/make-signer.ts";
import type { Signer } from "../../../src/trust/sign/signer.ts";
import { signImages } from "../../../src/trust/sign/sign-images.ts";
import type { SignatureFormat } from "../../../src/oci/trust-flags.ts";
import { image } from "../../resolve/support/locks.ts";

export const registry = createRegistryClient();

export interface SigningTestKey {
  readonly signer: Signer;
  readonly pem: string;
  /** PKCS#8. */
  readonly privatePem: string;
  /** Signs a digest of the reference's repository. */
  sign(reference: string, digest: Digest, format?: SignatureFormat): Promise<void>;
}

export function createSigningKey(): SigningTestKey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
  const signer = signWithKey({
    name: "test.key",
    publicKey: pem,
    sign: async (message) => sign("sha256", message, privateKey),
  });
  return {
    signer,
    pem,
    privatePem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    sign: async (reference, digest, format = "both") => {
      await signImages(parseImageReference(reference), [digest], { registry, signer, format, settleMs: 0 });
    },
  };
}

/**
 * Writes the index of a version with these cells, and answers the digests of the index and of each image. Under another tag it takes the
 * place of what is there, as a channel's does.
 */
export async function publishFleet(
  repository: string,
  version: string,
  cells: readonly string[],
  tag = version,
): Promise<{ readonly index: Digest; readonly images: ReadonlyMap<string, Digest> }> {
  const reference = parseImageReference(`${repository}:${tag}`);
  const { axes, platform, inputDigest, requires } = image();
  const images = new Map<string, Digest>();
  for (const cell of cells) images.set(cell, await pushImage(reference, `${version}-${cell}`));
  const named = [...images].map(
    ([cell, digest]) =>
      [cell, { axes, platform, inputDigest, requires, tag: `${version}-${cell}`, digest }] as const,
  );
  const name = reference.repository.slice(reference.repository.lastIndexOf("/") + 1);
  const replace = tag !== version;
  await publishIndex({ registry, reference, name, version, images: new Map(named), replace });
  return { index: await digestUnder(reference), images };
}

/** Gives a tag what another reference holds, as whoever may write there can. */
export async function moveTag(to: string, from: string): Promise<void> {
  const manifest = await registry.readManifest(parseImageReference(from));
  if (manifest === null) throw new Error(`no ${from}`);
  await registry.writeManifest(parseImageReference(to), manifest);
}

async function digestUnder(reference: ImageReference): Promise<Digest> {
  const found = await registry.findManifest(reference);
  if (found === null) throw new Error(`no ${reference.repository}:${reference.tag}`);
  return found.digest;
}

async function pushImage(repository: ImageReference, tag: string): Promise<Digest> {
  const config = Buffer.from(
    JSON.stringify({
      os: "linux",
      architecture: "amd64",
      config: {},
      rootfs: { type: "layers", diff_ids: [] },
      tag,
    }),
  );
  const mediaType = "application/vnd.oci.image.manifest.v1+json";
  const described = {
    mediaType: "application/vnd.oci.image.config.v1+json",
    digest: await registry.writeBlob(repository, config),
    size: config.length,
  };
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, config: described, layers: [] }));
  const manifest = { digest: digestOf(bytes), mediaType, size: bytes.length, bytes };
  return registry.writeManifest(withTag(repository, tag), manifest);
}
