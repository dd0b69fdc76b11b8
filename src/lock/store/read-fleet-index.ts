/** Reads a fleet's index: bytes of a registry or a cache → entries → lock. */

import { ImgmatchError } from "../../errors.ts";
import { anyText, checked, list, record, shape, someText } from "../../io/checks.ts";
import { registryLimits } from "../../io/limits.ts";
import { type IndexLock, lockSchemaVersion } from "../lock.ts";
import { choosingFields, digest } from "../parse-lock.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import type { Manifest, ManifestDescriptor } from "../../oci/descriptor.ts";
import { isDigest, type Digest } from "../../oci/digest.ts";
import { entryAnnotations, readEntry } from "../entry-annotations.ts";
import {
  annotations,
  type FleetIndex,
  type IndexedImage,
  type IndexEntry,
  indexFormat,
} from "../fleet-index.ts";
import { fieldsOf, isRecord, parseJson, readJson, text } from "../../io/json.ts";
import { type DoubledKey, doubledKeys, sayDoubled } from "../../io/json-keys.ts";
import { didYouMean, suggest } from "../../io/suggest.ts";
import { isIndexType, isMediaType } from "../../oci/media-types.ts";
import {
  formatImageReference,
  formatRepository,
  type ImageReference,
  withDigest,
} from "../../oci/reference.ts";

/** An index with its parts, as the registry has them. */
export interface StoredIndex {
  readonly top: Manifest;
  readonly parts: readonly Manifest[];
}

/**
 * Reads an index and its parts: one request, unless the fleet is too large for one manifest. null if the registry has no such reference.
 * Throws `INDEX_INVALID` for anything that `imgmatch publish` did not write, `INDEX_FORMAT` for another format.
 */
export async function readFleetIndex(
  registry: Pick<RegistryClient, "readManifest">,
  reference: ImageReference,
): Promise<StoredIndex | null> {
  const top = await registry.readManifest(reference);
  if (top === null) return null;
  const parts = await Promise.all(
    entriesOf(top, reference).parts.map(async ({ digest, size }) => {
      const part = await registry.readManifest(withDigest(reference, digest), { size });
      if (part === null) throw invalid(reference, `its part ${digest} is not in the registry`);
      if (part.size !== size)
        throw invalid(reference, `its part ${digest} has ${part.size} bytes, it says ${size}`);
      return part;
    }),
  );
  return { top, parts };
}

/** The top names exactly these parts in this order: the digest of the top covers the parts. */
export function isBound({ top, parts }: StoredIndex, reference: ImageReference): boolean {
  const named = entriesOf(top, reference).parts;
  return named.length === parts.length && parts.every(({ digest }, index) => digest === named[index]?.digest);
}

/** Digests in the index besides the parts of the index and the images of the cells. */
export function digestsWithoutCell(
  { top, parts }: StoredIndex,
  reference: ImageReference,
): readonly Digest[] {
  return [top, ...parts].flatMap((manifest) => entriesOf(manifest, reference).strange);
}

const knownAnnotations: readonly string[] = [
  ...Object.values(annotations),
  ...Object.values(entryAnnotations),
];

/** A line for each of the first annotations with imgmatch's prefix that this imgmatch does not know. */
export function unknownAnnotations({ top, parts }: StoredIndex): readonly string[] {
  const names = [top, ...parts].flatMap((manifest) => {
    const { notes = {}, items = [] } = headOf(manifest) ?? {};
    return [notes, ...items.map((item) => fieldsOf(fieldsOf(item).annotations))].flatMap(Object.keys);
  });
  const unknown = [...new Set(names)].filter(
    (name) => name.startsWith("dev.imgmatch.") && !knownAnnotations.includes(name),
  );
  return unknown
    .sort()
    .slice(0, 3)
    .map((name) => {
      const near = didYouMean(suggest(name, knownAnnotations));
      return `the index has ${JSON.stringify(name.slice(0, 200))}, which this imgmatch does not know: ${near}a newer one may have written it`;
    });
}

/** Checks every entry as an entry of a lock. Throws `INDEX_INVALID`. */
export function parseFleetIndex(stored: StoredIndex, reference: ImageReference): FleetIndex {
  const { top, parts } = stored;
  if (!isBound(stored, reference)) throw invalid(reference, "its parts differ from the named parts");
  const { head, entries } = entriesOf(top, reference);
  const all = [...entries, ...parts.flatMap((part) => entriesOfPart(part, reference))];
  if (all.length > registryLimits.indexEntries)
    throw tooMany(reference, `it has ${all.length} images, the limit is ${registryLimits.indexEntries}`);
  const found = new Map(all);
  if (found.size !== all.length) throw invalid(reference, "it has two entries for one cell");
  const images = Object.fromEntries(all.map(([cell, { image }]) => [cell, image]));
  const reading = checked({ ...head, images }, namedImages, "it");
  if (!reading.ok) throw invalid(reference, reading.mistakes.join("; "));
  return { ...head, entries: found };
}

const namedImages = shape({
  name: someText,
  version: someText,
  prefer: list(anyText),
  images: record(shape<IndexedImage>({ ...choosingFields, digest })),
});

/**
 * The lock that an index stands for. The repository is the repository that was asked, so a mirror's answer names the mirror. Fields that an
 * index does not have are empty: bases, builder, times.
 */
export function lockOfIndex(
  { name, version, prefer, plainPull, entries }: FleetIndex,
  reference: ImageReference,
  digest: Digest,
): IndexLock {
  const unknown = { bases: [], builder: "unknown", created: null, size: null };
  const images = [...entries].map(([cell, { image, descriptor }]) => {
    const { mediaType, size } = descriptor;
    // An entry that names the image inside an index does not describe that index.
    const manifest = image.digest === descriptor.digest ? { manifest: { mediaType, size } } : {};
    return [cell, { ...image, ...manifest, ...unknown }] as const;
  });
  return {
    schemaVersion: lockSchemaVersion,
    name,
    version,
    repository: formatRepository(reference),
    indexDigest: digest,
    ...(prefer.length === 0 ? {} : { prefer }),
    ...(plainPull && { plainPull }),
    images: Object.fromEntries(images),
  };
}

interface Read {
  readonly head: Omit<FleetIndex, "entries">;
  readonly entries: readonly (readonly [string, IndexEntry])[];
  readonly parts: readonly ManifestDescriptor[];
  /** Digests of other entries, as attestations that another tool added. */
  readonly strange: readonly Digest[];
}

/** Refuses parts of parts, which could be a tree without end. */
function entriesOfPart(part: Manifest, reference: ImageReference): Read["entries"] {
  const { entries, parts } = entriesOf(part, reference);
  if (parts.length > 0) throw invalid(reference, `its part ${part.digest} has parts itself`);
  return entries;
}

function entriesOf(manifest: Manifest, reference: ImageReference): Read {
  const found = headOf(manifest);
  if (found === null) throw invalid(reference, `${manifest.digest} is no index that imgmatch publish wrote`);
  const { format, notes, items, doubled } = found;
  if (format !== indexFormat) throw otherFormat(reference, format);
  if (doubled !== undefined) throw invalid(reference, sayDoubled(doubled));
  const entries: (readonly [string, IndexEntry])[] = [];
  const parts: ManifestDescriptor[] = [];
  const strange: Digest[] = [];
  for (const item of items) {
    const own = fieldsOf(fieldsOf(item).annotations);
    const descriptor = descriptorOf(item);
    if (descriptor === null) throw invalid(reference, "it has an entry without digest, size or media type");
    if (own[annotations.part] !== undefined) parts.push(descriptor);
    else if (own[entryAnnotations.cell] === undefined) strange.push(descriptor.digest);
    else {
      const read = readEntry(own, descriptor);
      if (!read.ok) throw invalid(reference, read.why);
      entries.push([read.cell, { image: read.image, descriptor }]);
    }
  }
  if (new Set(parts.map(({ digest }) => digest)).size !== parts.length)
    throw invalid(reference, "it names one part twice");
  if (parts.length > registryLimits.indexParts)
    throw tooMany(reference, `it has ${parts.length} parts, the limit is ${registryLimits.indexParts}`);
  const head: Omit<FleetIndex, "entries"> = {
    name: text(notes[annotations.title]) ?? "",
    version: text(notes[annotations.version]) ?? "",
    repository: text(notes[annotations.repository]),
    tag: text(notes[annotations.tag]),
    // Checked by parseFleetIndex.
    prefer: parseJson(text(notes[annotations.prefer]) ?? "[]") as readonly string[],
    plainPull: notes[annotations.plainPull] === "least" ? "least" : undefined,
  };
  return { head, entries, parts, strange };
}

function descriptorOf(item: unknown): ManifestDescriptor | null {
  const { mediaType, digest, size } = fieldsOf(item);
  const isSize = typeof size === "number" && Number.isSafeInteger(size) && size >= 0;
  return isMediaType(mediaType) && isDigest(digest) && isSize ? { mediaType, digest, size } : null;
}

/** The format of a fleet's index; null for any other manifest. */
export function formatOf(manifest: Manifest): string | null {
  return headOf(manifest)?.format ?? null;
}

/** null for a manifest that is no fleet's index of any format. */
function headOf(manifest: Manifest): {
  readonly format: string;
  readonly notes: Readonly<Record<string, unknown>>;
  readonly items: readonly unknown[];
  readonly doubled: DoubledKey | undefined;
} | null {
  if (!isIndexType(manifest.mediaType)) return null;
  const source = Buffer.from(manifest.bytes).toString("utf8");
  const reading = readJson(source);
  if (!reading.ok) return null;
  const json = reading.value;
  const notes = fieldsOf(fieldsOf(json).annotations);
  const format = text(notes[annotations.format]);
  if (!isRecord(json) || !Array.isArray(json.manifests) || format === null) return null;
  const [doubled] = doubledKeys(source, reading);
  return { format, notes, items: json.manifests, doubled };
}

function otherFormat(reference: ImageReference, format: string): ImgmatchError {
  return new ImgmatchError({
    code: "INDEX_FORMAT",
    message: `${formatImageReference(reference)} has the format ${JSON.stringify(format)}, this imgmatch reads ${JSON.stringify(indexFormat)}`,
    fix: "use the imgmatch that wrote the index, or publish a new version with this imgmatch",
  });
}

function tooMany(reference: ImageReference, what: string): ImgmatchError {
  return new ImgmatchError({
    code: "REGISTRY_ANSWER_TOO_LARGE",
    message: `${formatImageReference(reference)}: ${what}`,
    fix: "check who wrote this index, and write it again with imgmatch publish",
  });
}

function invalid(reference: ImageReference, what: string): ImgmatchError {
  return new ImgmatchError({
    code: "INDEX_INVALID",
    message: `${formatImageReference(reference)} is not the index of a fleet: ${what}`,
    fix: "name the version that imgmatch publish wrote, for example registry.example.com/team/app:1.12.0",
  });
}
