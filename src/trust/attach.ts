/** Attaches signatures to an image: as cosign 3 does, and under the tag of cosign 1 and 2. */

import { fieldsOf, parseJson } from "../io/json.ts";
import type { Manifest, Subject } from "../oci/descriptor.ts";
import { digestOf } from "../oci/digest-of.ts";
import { manifestTypes } from "../oci/media-types.ts";
import { withTag } from "../oci/reference.ts";
import { type Artifact, type AttachmentRegistry, joinTag } from "../oci/registry/attach.ts";
import { signatureTag } from "../oci/registry/attachment-tags.ts";
import { manifestOf } from "../oci/registry/manifests.ts";
import type { Referrer } from "../oci/registry/client.ts";
import type { TryOptions } from "../oci/registry/try-again.ts";
import {
  bundleAnnotations,
  bundleType,
  layerAnnotations,
  type SimpleSigning,
  simpleSigningType,
} from "./evidence.ts";

/** A bundle of sigstore, as cosign 3 attaches one. */
export function bundleArtifact(bundle: string, predicateType: string): Artifact {
  return {
    artifactType: bundleType,
    content: Buffer.from(bundle),
    annotations: {
      [bundleAnnotations.content]: "dsse-envelope",
      [bundleAnnotations.predicateType]: predicateType,
    },
  };
}

/**
 * Adds a signature to those under `sha256-<hex>.sig`, where cosign 1 and 2, podman and CRI-O look. Answers true if it was not there. A second
 * call puts it back if another writer has dropped it.
 */
export async function attachSimpleSigning(
  registry: AttachmentRegistry,
  { reference, digest }: Subject,
  signature: SimpleSigning,
  options: TryOptions = {},
): Promise<boolean> {
  const payload = Buffer.from(signature.payload, "base64");
  const layer = {
    mediaType: simpleSigningType,
    digest: await registry.writeBlob(reference, payload),
    size: payload.byteLength,
    annotations: notesOf(signature),
  };
  const name = withTag(reference, signatureTag(digest));
  const join = async (held: Manifest | null) => {
    const wanted = withLayer(held, layer);
    // A registry takes the manifest only after the configuration that it names.
    if (wanted !== null) await registry.writeBlob(reference, wanted.config);
    return wanted?.manifest ?? null;
  };
  return joinTag(registry, name, join, options);
}

/** null if the tag has the same signature already. */
function withLayer(held: Manifest | null, layer: Pick<Referrer, "annotations">) {
  const json = fieldsOf(held === null ? null : parseJson(held.bytes));
  const others: readonly unknown[] = Array.isArray(json.layers) ? json.layers : [];
  const signatureOf = (each: unknown) => fieldsOf(fieldsOf(each).annotations)[layerAnnotations.signature];
  if (others.some((each) => signatureOf(each) === layer.annotations[layerAnnotations.signature])) return null;
  const layers = [...others, layer];
  const config = Buffer.from(
    JSON.stringify({
      architecture: "",
      created: "0001-01-01T00:00:00Z",
      history: layers.map(() => ({ created: "0001-01-01T00:00:00Z" })),
      os: "",
      rootfs: { type: "layers", diff_ids: layers.map((each) => fieldsOf(each).digest) },
      config: {},
    }),
  );
  const mediaType = "application/vnd.oci.image.config.v1+json";
  const manifest = manifestOf(manifestTypes.oci, {
    config: { mediaType, digest: digestOf(config), size: config.byteLength },
    layers,
  });
  return { manifest, config };
}

function notesOf(signature: SimpleSigning): Readonly<Record<string, string>> {
  const { certificate, chain, log, timestamp } = signature;
  const notes = { signature: signature.signature, certificate, chain, log, timestamp };
  return Object.fromEntries(
    Object.entries(notes).flatMap(([name, value]) =>
      value === null ? [] : [[layerAnnotations[name as keyof typeof notes], value]],
    ),
  );
}
