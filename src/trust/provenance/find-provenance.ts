/**
 * Finds all provenance of an image in a registry: in the index around the image, where BuildKit writes provenance, and attached to the image.
 */

import { fieldsOf, isRecord, parseJson, textsOf } from "../../io/json.ts";
import { registryLimits } from "../../io/limits.ts";
import type { Digest } from "../../oci/digest.ts";
import { isIndexType } from "../../oci/media-types.ts";
import { withDigest } from "../../oci/reference.ts";
import { selectPlatformManifest } from "../../oci/registry/platform-image.ts";
import type { Manifest } from "../../oci/descriptor.ts";
import type { Evidence } from "../evidence.ts";
import type { Subject } from "../../oci/descriptor.ts";
import { isUnread, layersOf, type NamedPart, type PartReader, partReader } from "../evidence-reader.ts";
import type { EvidenceReader } from "../../oci/registry/client.ts";
import { findBundles, isUntold } from "../find-evidence.ts";
import { findReferrers } from "../../oci/registry/find-referrers.ts";
import { type Envelope, readBundle, readStatement, statementType } from "../statement.ts";
import { type AttestedBuild, provenanceTypes, readProvenance } from "./attested-build.ts";

export interface FoundProvenance {
  readonly build: AttestedBuild;
  /** `index`: an attestation of BuildKit; `attached`: a statement without a signature; `signed`: one in a bundle, not verified yet. */
  readonly foundAs: "index" | "attached" | "signed";
  readonly evidence: Evidence | null;
  /** The digest that it is attached to: the digest that was asked for, or the digest of the image in that index. */
  readonly about: Digest;
}

export interface ProvenanceFindings {
  /** Digest of the image itself: in an index, of the platform's manifest. */
  readonly image: Digest;
  readonly found: readonly FoundProvenance[];
}

/** What BuildKit attests of an image in the index around it. */
interface BuilderFindings extends ProvenanceFindings {
  /** Predicate types, of other statements too. */
  readonly attested: readonly string[];
  readonly parts: PartReader;
}

const wanted: readonly string[] = Object.values(provenanceTypes);

/**
 * null if the registry does not have the image. A part that is no statement, too large or damaged is left out. Throws `REGISTRY_…`: no answer
 * is never "no provenance".
 */
export async function findProvenance(
  registry: EvidenceReader,
  { reference, digest }: Subject,
  platform: string,
): Promise<ProvenanceFindings | null> {
  const inside = await findAttestations(registry, { reference, digest }, platform);
  if (inside === null) return null;
  const { image, parts } = inside;
  const attached: FoundProvenance[] = [];
  for (const each of new Set([digest, image]))
    attached.push(...(await findAttached(registry, { reference, digest: each }, parts)));
  return { image, found: [...inside.found, ...attached] };
}

/**
 * The part that is in the index: no list of what is attached is asked. Answers and throws as {@link findProvenance}
 * (moby/buildkit, docs/attestations/attestation-storage.md).
 */
export async function findAttestations(
  registry: EvidenceReader,
  { reference, digest }: Subject,
  platform: string,
): Promise<BuilderFindings | null> {
  const top = await registry.readManifest(withDigest(reference, digest));
  if (top === null) return null;
  const image = isIndexType(top.mediaType) ? selectPlatformManifest(top, reference, platform) : digest;
  const parts = partReader(registry, { reference, digest }, registryLimits.statementBytes);
  const attested: string[] = [];
  const statements: FoundProvenance[] = [];
  for (const named of attestationsOf(top, image)) {
    const manifest = await parts.manifest(named);
    if (manifest === null || isUnread(manifest)) continue;
    const layers = layersOf(manifest).flatMap(({ layer, mediaType, notes }) => {
      const predicateType = notes["in-toto.io/predicate-type"];
      return mediaType === statementType && predicateType !== undefined ? [{ layer, predicateType }] : [];
    });
    for (const { layer, predicateType } of layers.slice(0, registryLimits.referrers)) {
      attested.push(predicateType);
      if (!wanted.includes(predicateType)) continue;
      statements.push(...found(await readStatementLayer(parts, layer), "index", image));
    }
  }
  return { image, parts, attested, found: statements };
}

function attestationsOf(top: Manifest, image: Digest): readonly NamedPart[] {
  if (!isIndexType(top.mediaType)) return [];
  const { manifests } = fieldsOf(parseJson(top.bytes));
  return (Array.isArray(manifests) ? manifests : [])
    .filter(isRecord)
    .filter(({ annotations }) => {
      const { "vnd.docker.reference.type": type, "vnd.docker.reference.digest": about } =
        textsOf(annotations);
      return type === "attestation-manifest" && about === image;
    })
    .slice(0, registryLimits.referrers);
}

async function findAttached(
  registry: EvidenceReader,
  subject: Subject,
  parts: PartReader,
): Promise<readonly FoundProvenance[]> {
  const { digest } = subject;
  const bundles = await findBundles(registry, subject, provenanceTypes.v1, { parts });
  const attached = bundles.flatMap((bundle) => {
    const read = isUnread(bundle) ? null : readBundle(bundle.content);
    return read === null || typeof read === "string" ? [] : found(read.envelope, "signed", digest, bundle);
  });
  const plain = (await findReferrers(registry, subject))
    .filter(({ artifactType }) => isUntold(artifactType) || artifactType === statementType)
    .slice(0, registryLimits.referrers);
  for (const each of plain) {
    const manifest = await parts.manifest(each);
    if (manifest === null || isUnread(manifest)) continue;
    const named = layersOf(manifest).find(({ mediaType }) => mediaType === statementType);
    if (named === undefined) continue;
    attached.push(...found(await readStatementLayer(parts, named.layer), "attached", digest));
  }
  return attached;
}

async function readStatementLayer(parts: PartReader, layer: unknown): Promise<Envelope | null> {
  const payload = await parts.blob(layer, registryLimits.statementBytes);
  return isUnread(payload) ? null : { payloadType: statementType, payload, signatures: [] };
}

function found(
  envelope: Envelope | null,
  foundAs: FoundProvenance["foundAs"],
  about: Digest,
  evidence: Evidence | null = null,
): readonly FoundProvenance[] {
  const statement = envelope && readStatement(envelope);
  const build = statement === null || typeof statement === "string" ? null : readProvenance(statement);
  return build === null ? [] : [{ build, foundAs, about, evidence }];
}
