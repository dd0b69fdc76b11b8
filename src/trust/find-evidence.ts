/** What a registry has that may prove who signed an image: by the referrers API, by the tag in its place, and by cosign's own tag. */

import { fieldsOf, parseJson, text, textsOf } from "../input/json.ts";
import { registryLimits } from "../input/limits.ts";
import { type Digest, isDigest } from "../oci/digest.ts";
import { type ImageReference, withDigest, withTag } from "../oci/reference.ts";
import type { Manifest, Referrer, ReferrersReader, RegistryClient } from "../registry/client.ts";
import { parseReferrers, referrersTag } from "../registry/referrers.ts";
import { invalidSignature } from "./failures.ts";
import {
  bundleAnnotations,
  emptyType,
  type Evidence,
  isBundleType,
  layerAnnotations,
  signatureTag,
  signPredicate,
  simpleSigningType,
} from "./evidence.ts";

export type EvidenceReader = Pick<RegistryClient, "readManifest" | "streamBlob"> & ReferrersReader;

/** An image, or an index. `reference` names the repository; its tag and digest do not count. */
export interface Subject {
  readonly reference: ImageReference;
  readonly digest: Digest;
}

/**
 * Everything that may be a signature of the subject; empty where the registry says that there is nothing. Not one byte of it is
 * checked, but how much it is. `predicateType`: of the statements that are wanted. Default: plain signatures.
 *
 * Throws `SIGNATURE_INVALID` for what is too large to be one, and what the registry throws: no answer is never "not signed".
 */
export async function findEvidence(
  registry: EvidenceReader,
  subject: Subject,
  predicateType: string = signPredicate,
): Promise<readonly Evidence[]> {
  const bundles = findBundles(registry, subject, predicateType);
  if (predicateType !== signPredicate) return bundles;
  const [found, simple] = await Promise.all([bundles, findSimpleSigning(registry, subject)]);
  return [...found, ...simple];
}

/** Who names this image as its subject; both lists, for a registry may have been given the API when tags were there already. */
export async function findReferrers(
  registry: Pick<EvidenceReader, "readManifest" | "readReferrers">,
  { reference, digest }: Subject,
): Promise<readonly Referrer[]> {
  const [listed, tagged] = await Promise.all([
    registry.readReferrers(reference, digest),
    registry.readManifest(withTag(reference, referrersTag(digest))),
  ]);
  const all = [...(listed ?? []), ...((tagged && parseReferrers(tagged.bytes)) ?? [])];
  return [...new Map(all.map((each) => [each.digest, each])).values()];
}

async function findBundles(
  registry: EvidenceReader,
  subject: Subject,
  predicateType: string,
): Promise<readonly Evidence[]> {
  const bundles = (await findReferrers(registry, subject)).filter(({ artifactType, annotations }) => {
    const told = annotations[bundleAnnotations.predicateType];
    const isBundle = isUntold(artifactType) || isBundleType(artifactType);
    return isBundle && (told === undefined || told === predicateType);
  });
  requireFew(bundles.length, subject);
  const found = await Promise.all(
    bundles.map(({ digest }) => readBundle(registry, subject, digest, predicateType)),
  );
  return found.flatMap((each) => each ?? []);
}

/** Some registries list what the manifest's configuration is, which is nothing, in place of what the manifest is: that one decides. */
export function isUntold(artifactType: string | null): boolean {
  return artifactType === null || artifactType === emptyType;
}

/** null for one of another kind, which only its manifest tells, and for one that was removed meanwhile. */
async function readBundle(
  registry: EvidenceReader,
  subject: Subject,
  digest: Digest,
  predicateType: string,
): Promise<Evidence | null> {
  const manifest = await registry.readManifest(withDigest(subject.reference, digest));
  if (manifest === null) return null;
  const { annotations, layers } = fieldsOf(parseJson(manifest.bytes));
  const told = textsOf(annotations)[bundleAnnotations.predicateType];
  if (told !== undefined && told !== predicateType) return null;
  const layer = (Array.isArray(layers) ? layers : []).find((each) =>
    isBundleType(text(fieldsOf(each).mediaType)),
  );
  if (layer === undefined) return null;
  const content = await readLayer(registry, subject, layer, manifest.digest);
  return { format: "bundle", content: content.toString("utf8") };
}

async function findSimpleSigning(registry: EvidenceReader, subject: Subject): Promise<readonly Evidence[]> {
  const manifest = await registry.readManifest(withTag(subject.reference, signatureTag(subject.digest)));
  if (manifest === null) return [];
  const layers = simpleLayers(manifest);
  requireFew(layers.length, subject);
  return Promise.all(
    layers.map(async ({ layer, notes, signature }) => ({
      format: "simple-signing" as const,
      payload: (await readLayer(registry, subject, layer, manifest.digest)).toString("base64"),
      signature,
      certificate: notes[layerAnnotations.certificate] || null,
      chain: notes[layerAnnotations.chain] || null,
      log: notes[layerAnnotations.log] || null,
      timestamp: notes[layerAnnotations.timestamp] || null,
    })),
  );
}

function simpleLayers({ bytes }: Manifest) {
  const { layers } = fieldsOf(parseJson(bytes));
  return (Array.isArray(layers) ? layers : []).flatMap((layer) => {
    const { mediaType, annotations } = fieldsOf(layer);
    const notes = textsOf(annotations);
    const signature = notes[layerAnnotations.signature];
    return mediaType === simpleSigningType && signature !== undefined ? [{ layer, notes, signature }] : [];
  });
}

async function readLayer(
  registry: EvidenceReader,
  subject: Subject,
  layer: unknown,
  holder: Digest,
): Promise<Buffer> {
  const { digest, size } = fieldsOf(layer);
  const most = registryLimits.signatureBytes;
  if (!isDigest(digest) || typeof size !== "number" || !Number.isSafeInteger(size) || size < 0)
    throw invalidSignature(subject, `${holder} has a part without digest and size`);
  if (size > most)
    throw invalidSignature(subject, `${holder} has ${size} bytes, a signature at most ${most}`);
  const pieces: Uint8Array[] = [];
  for await (const piece of registry.streamBlob(subject.reference, digest, size)) pieces.push(piece);
  return Buffer.concat(pieces);
}

function requireFew(found: number, subject: Subject): void {
  if (found > registryLimits.referrers)
    throw invalidSignature(subject, `it has ${found} signatures, the limit is ${registryLimits.referrers}`);
}
