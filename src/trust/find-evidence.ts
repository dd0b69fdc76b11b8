/** Searches a registry for the signatures of an image: by the referrers API, by its fallback tag, and by cosign's tag. */

import { signatureTag } from "../oci/registry/attachment-tags.ts";
import { findReferrers } from "../oci/registry/find-referrers.ts";
import { fieldsOf, parseJson, textsOf } from "../io/json.ts";
import { registryLimits } from "../io/limits.ts";
import { withTag } from "../oci/reference.ts";
import type { AdviceOptions, Referrer } from "../oci/registry/client.ts";
import type { RegistryError } from "../oci/registry/registry-error.ts";
import { isUnread, layersOf, type PartReader, partReader, type Unread } from "./evidence-reader.ts";
import type { EvidenceReader } from "../oci/registry/client.ts";
import {
  bundleAnnotations,
  type BundleEvidence,
  type Evidence,
  invalidSignature,
  isBundleType,
  layerAnnotations,
  type RefusedPlace,
  signPredicate,
  type SimpleSigning,
  simpleSigningType,
} from "./evidence.ts";
import { emptyType } from "../oci/media-types.ts";
import type { Subject } from "../oci/descriptor.ts";

/**
 * Everything that may be a signature of the subject; empty if the registry has nothing. Only sizes are checked. A part that is too large,
 * damaged or absent becomes {@link UnreadEvidence} and hides no other part; a place that the registry refuses to show, {@link RefusedPlace}.
 *
 * Throws the first fault if no part can be read, `SIGNATURE_INVALID` for too many, and the registry's errors: no answer is never "not signed".
 */
export async function findEvidence(registry: EvidenceReader, subject: Subject): Promise<readonly Evidence[]> {
  const parts = partReader(registry, subject, registryLimits.evidenceBytes);
  const refused: RefusedPlace[] = [];
  const onRefusal = ({ problems: [{ message }] }: RegistryError): void => {
    refused.push({ format: "refused", why: message });
  };
  const bundles = await findBundles(registry, subject, signPredicate, { parts, onRefusal });
  const found = [...bundles, ...(await findSimpleSigning(registry, subject, { parts, onRefusal }))];
  const unread = found.filter(isUnread);
  const [first] = unread;
  if (first !== undefined && unread.length === found.length && refused.length === 0) throw first.error;
  return [
    ...found.map((each) => (isUnread(each) ? { format: each.format, why: each.why } : each)),
    ...refused,
  ];
}

/** A place where signatures may be advises: others may have a valid one. */
interface Search extends AdviceOptions {
  readonly parts: PartReader;
}

/** The bundles that may hold a statement of this type. */
export async function findBundles(
  registry: EvidenceReader,
  subject: Subject,
  predicateType: string,
  { parts, ...advice }: Search,
): Promise<readonly (BundleEvidence | Unread)[]> {
  const bundles = (await findReferrers(registry, subject, advice)).filter(({ artifactType, annotations }) => {
    const told = annotations[bundleAnnotations.predicateType];
    const isBundle = isUntold(artifactType) || isBundleType(artifactType);
    return isBundle && (told === undefined || told === predicateType);
  });
  requireFew(bundles.length, subject);
  const found: (BundleEvidence | Unread)[] = [];
  for (const bundle of bundles) {
    const read = await readBundle(parts, bundle, predicateType);
    if (read !== null) found.push(read);
  }
  return found;
}

/** Some registries list the empty type of the configuration in place of the manifest's type: then the manifest decides. */
export function isUntold(artifactType: string | null): boolean {
  return artifactType === null || artifactType === emptyType;
}

/** null for a bundle of another type, by its manifest, and for a bundle that was removed meanwhile. */
async function readBundle(
  parts: PartReader,
  named: Referrer,
  predicateType: string,
): Promise<BundleEvidence | Unread | null> {
  const manifest = await parts.manifest(named);
  if (manifest === null || isUnread(manifest)) return manifest;
  const told = textsOf(fieldsOf(parseJson(manifest.bytes)).annotations)[bundleAnnotations.predicateType];
  if (told !== undefined && told !== predicateType) return null;
  const found = layersOf(manifest).find(({ mediaType }) => isBundleType(mediaType));
  if (found === undefined) return null;
  const content = await parts.blob(found.layer, registryLimits.signatureBytes);
  return isUnread(content) ? content : { format: "bundle", content: content.toString("utf8") };
}

async function findSimpleSigning(
  registry: EvidenceReader,
  subject: Subject,
  { parts, ...advice }: Search,
): Promise<readonly (SimpleSigning | Unread)[]> {
  const name = withTag(subject.reference, signatureTag(subject.digest));
  const manifest = await registry.readManifest(name, advice);
  if (manifest === null) return [];
  const layers = layersOf(manifest).flatMap(({ layer, mediaType, notes }) => {
    const signature = notes[layerAnnotations.signature];
    return mediaType === simpleSigningType && signature !== undefined ? [{ layer, notes, signature }] : [];
  });
  requireFew(layers.length, subject);
  const found: (SimpleSigning | Unread)[] = [];
  for (const { layer, notes, signature } of layers) {
    const payload = await parts.blob(layer, registryLimits.signatureBytes);
    if (isUnread(payload)) found.push(payload);
    else
      found.push({
        format: "simple-signing",
        payload: payload.toString("base64"),
        signature,
        certificate: notes[layerAnnotations.certificate] || null,
        chain: notes[layerAnnotations.chain] || null,
        log: notes[layerAnnotations.log] || null,
        timestamp: notes[layerAnnotations.timestamp] || null,
      });
  }
  return found;
}

function requireFew(found: number, subject: Subject): void {
  if (found > registryLimits.referrers)
    throw invalidSignature(subject, `it has ${found} signatures, the limit is ${registryLimits.referrers}`);
}
