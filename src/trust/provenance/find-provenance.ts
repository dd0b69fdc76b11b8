/** All provenance of an image that a registry has: in the index around it, where BuildKit writes it, and attached to it. */

import { fieldsOf, isRecord, parseJson, text, textsOf } from "../../input/json.ts";
import { registryLimits } from "../../input/limits.ts";
import { type Digest, isDigest } from "../../oci/digest.ts";
import { isIndexType } from "../../oci/media-types.ts";
import { type ImageReference, withDigest } from "../../oci/reference.ts";
import { selectPlatformManifest } from "../../registry/platform-image.ts";
import type { Manifest } from "../../registry/client.ts";
import type { Evidence } from "../evidence.ts";
import { type EvidenceReader, findEvidence, findReferrers, isUntold } from "../find-evidence.ts";
import { readBundle, readStatement, type Statement, statementType } from "../statement.ts";
import { type AttestedBuild, readProvenance } from "./attested-build.ts";
import { provenanceTypes } from "./predicate.ts";

export interface FoundProvenance {
  readonly build: AttestedBuild;
  /** `index`: an attestation of BuildKit; `attached`: a statement without a signature; `signed`: one in a bundle, not verified yet. */
  readonly held: "index" | "attached" | "signed";
  readonly evidence: Evidence | null;
  /** What it lies beside: the digest that was asked for, or that of the image in it. */
  readonly about: Digest;
}

export interface ProvenanceFindings {
  /** Digest of the image itself: where the one asked for is an index, the manifest of the platform. */
  readonly image: Digest;
  readonly found: readonly FoundProvenance[];
  /** Predicate types of all that BuildKit has attested. */
  readonly attested: readonly string[];
}

export interface ProvenanceQuery {
  readonly reference: ImageReference;
  readonly digest: Digest;
  /** `os/architecture` */
  readonly platform: string;
}

const wanted: readonly string[] = Object.values(provenanceTypes);

/**
 * null where the registry does not have the image. What is no statement, or is too large to be one, is none. Throws `REGISTRY_…`: no answer
 * is never "no provenance".
 */
export async function findProvenance(
  registry: EvidenceReader,
  { reference, digest, platform }: ProvenanceQuery,
): Promise<ProvenanceFindings | null> {
  const top = await registry.readManifest(withDigest(reference, digest));
  if (top === null) return null;
  const isIndex = isIndexType(top.mediaType);
  const image = isIndex ? selectPlatformManifest(top, reference, platform) : digest;
  const [inside, attached] = await Promise.all([
    isIndex ? findInside(registry, reference, top, image) : { found: [], attested: [] },
    Promise.all([...new Set([digest, image])].map((each) => findAttached(registry, reference, each))),
  ]);
  return { image, attested: inside.attested, found: [...inside.found, ...attached.flat()] };
}

/** moby/buildkit, docs/attestations/attestation-storage.md */
async function findInside(
  registry: EvidenceReader,
  reference: ImageReference,
  index: Manifest,
  image: Digest,
): Promise<Pick<ProvenanceFindings, "found" | "attested">> {
  const manifests = await Promise.all(
    attestationsOf(index, image).map((digest) => registry.readManifest(withDigest(reference, digest))),
  );
  const layers = manifests.flatMap((manifest) => (manifest === null ? [] : statementLayers(manifest)));
  const statements = await Promise.all(
    layers
      .filter(({ predicateType }) => wanted.includes(predicateType))
      .map(({ layer }) => readLayer(registry, reference, layer)),
  );
  return {
    attested: layers.map(({ predicateType }) => predicateType),
    found: statements.flatMap((bytes) => found(bytes === null ? null : statementIn(bytes), "index", image)),
  };
}

function attestationsOf(index: Manifest, image: Digest): readonly Digest[] {
  const { manifests } = fieldsOf(parseJson(index.bytes));
  return (Array.isArray(manifests) ? manifests : [])
    .filter(isRecord)
    .flatMap(({ digest, annotations }) => {
      const notes = textsOf(annotations);
      const isOfImage =
        notes["vnd.docker.reference.type"] === "attestation-manifest" &&
        notes["vnd.docker.reference.digest"] === image;
      return isOfImage && isDigest(digest) ? [digest] : [];
    })
    .slice(0, registryLimits.referrers);
}

function statementLayers({ bytes }: Manifest) {
  const { layers } = fieldsOf(parseJson(bytes));
  return (Array.isArray(layers) ? layers : []).flatMap((layer) => {
    const { mediaType, annotations } = fieldsOf(layer);
    const predicateType = textsOf(annotations)["in-toto.io/predicate-type"];
    return mediaType === statementType && predicateType !== undefined ? [{ layer, predicateType }] : [];
  });
}

async function findAttached(
  registry: EvidenceReader,
  reference: ImageReference,
  digest: Digest,
): Promise<readonly FoundProvenance[]> {
  const subject = { reference, digest };
  const [referrers, bundles] = await Promise.all([
    findReferrers(registry, subject),
    findEvidence(registry, subject, provenanceTypes.v1),
  ]);
  const plain = await Promise.all(
    referrers
      .filter(({ artifactType }) => isUntold(artifactType) || artifactType === statementType)
      .slice(0, registryLimits.referrers)
      .map((each) => readAttached(registry, reference, each.digest)),
  );
  return [
    ...bundles.flatMap((evidence) => found(statementOf(evidence), "signed", digest, evidence)),
    ...plain.flatMap((bytes) => found(bytes === null ? null : statementIn(bytes), "attached", digest)),
  ];
}

async function readAttached(
  registry: EvidenceReader,
  reference: ImageReference,
  digest: Digest,
): Promise<Uint8Array | null> {
  const manifest = await registry.readManifest(withDigest(reference, digest));
  const { layers } = fieldsOf(manifest === null ? null : parseJson(manifest.bytes));
  const layer = (Array.isArray(layers) ? layers : []).find(
    (each) => text(fieldsOf(each).mediaType) === statementType,
  );
  return layer === undefined ? null : readLayer(registry, reference, layer);
}

/** null for what is too large to be a statement, or says no size. */
async function readLayer(
  registry: EvidenceReader,
  reference: ImageReference,
  layer: unknown,
): Promise<Uint8Array | null> {
  const { digest, size } = fieldsOf(layer);
  if (!isDigest(digest) || typeof size !== "number" || !Number.isSafeInteger(size)) return null;
  if (size < 0 || size > registryLimits.statementBytes) return null;
  const pieces: Uint8Array[] = [];
  for await (const piece of registry.streamBlob(reference, digest, size)) pieces.push(piece);
  return Buffer.concat(pieces);
}

function statementIn(bytes: Uint8Array): Statement | null {
  const read = readStatement({ payloadType: statementType, payload: Buffer.from(bytes), signatures: [] });
  return typeof read === "string" ? null : read;
}

function statementOf(evidence: Evidence): Statement | null {
  if (evidence.format !== "bundle") return null;
  const bundle = readBundle(evidence.content);
  const read = typeof bundle === "string" ? bundle : readStatement(bundle.envelope);
  return typeof read === "string" ? null : read;
}

function found(
  statement: Statement | null,
  held: FoundProvenance["held"],
  about: Digest,
  evidence: Evidence | null = null,
): readonly FoundProvenance[] {
  const build = statement === null ? null : readProvenance(statement);
  return build === null ? [] : [{ build, held, about, evidence }];
}
