/**
 * The index of a fleet: one OCI image index per version, in which every image stands with its platform and, as
 * annotations, all that `resolve` needs. (OCI image-spec v1.1, `image-index.md` and `annotations.md`.)
 */

import type { LockedImage } from "../lock/lock.ts";
import { measuredOf, neededRequirement } from "../lock/needed-requirement.ts";
import type { Manifest } from "./client.ts";
import { canonical } from "../oci/canonical-json.ts";
import { digestOf, type Digest } from "../oci/digest.ts";
import { indexTypes } from "../oci/media-types.ts";
import { compareText } from "../oci/text-order.ts";

/** Raised when a reader of before could misread it. */
export const indexFormat = "1";

export const annotations = {
  /** On the index: {@link indexFormat}. */
  format: "dev.imgmatch.index",
  title: "org.opencontainers.image.title",
  version: "org.opencontainers.image.version",
  /** On the index, where the matrix says so: what resolve looks at first, as JSON. */
  prefer: "dev.imgmatch.prefer",
  /** On the entry of a further index with more images, where one manifest would be too long. */
  part: "dev.imgmatch.part",
  cell: "dev.imgmatch.cell",
  axes: "dev.imgmatch.axes",
  /** What the image needs by its files: who knows nothing of {@link annotations.measured} goes by that, too. */
  requires: "dev.imgmatch.requires",
  /** Only where the image was opened: with it the reader knows what was declared. */
  measured: "dev.imgmatch.measured",
  inputs: "dev.imgmatch.inputs",
  tag: "dev.imgmatch.tag",
  /** The digest by the lock, where that is an index of its own and the entry names the image inside. */
  digest: "dev.imgmatch.digest",
} as const;

/** What the index says of an image: the parts of the lock by which it is chosen. */
export type IndexedImage = Pick<
  LockedImage,
  "axes" | "platform" | "tag" | "inputDigest" | "requires" | "measured"
> & {
  readonly digest: Digest;
};

/** null for an image that the registry does not have. */
export function indexedImage(image: LockedImage): IndexedImage | null {
  const { axes, platform, tag, inputDigest, digest, requires, measured } = image;
  if (digest === null) return null;
  return {
    axes,
    platform,
    tag,
    inputDigest,
    digest,
    requires,
    ...(measured === undefined ? {} : { measured }),
  };
}

/** What a registry says of a manifest. */
export interface Descriptor {
  readonly mediaType: string;
  readonly digest: Digest;
  readonly size: number;
}

export interface IndexEntry {
  readonly image: IndexedImage;
  /** The image's manifest, for one platform. */
  readonly descriptor: Descriptor;
}

export interface FleetIndex {
  readonly name: string;
  readonly version: string;
  /** What resolve looks at first among images that fit; empty for the default order. */
  readonly prefer: readonly string[];
  /** By cell. */
  readonly entries: ReadonlyMap<string, IndexEntry>;
}

export interface FormattedIndex {
  readonly top: Manifest;
  /** Indexes that `top` refers to. They must be in the registry before it. */
  readonly parts: readonly Manifest[];
}

// Registries take manifests of up to 4 MiB; what is left over is for the entries of the parts.
const longestIndex = 4 * 1024 * 1024 - 64 * 1024;

/** The index as bytes: equal fleets are equal bytes. A fleet that is too large for one manifest is divided into parts. */
export function formatFleetIndex(
  { name, version, prefer, entries }: FleetIndex,
  { maxBytes = longestIndex }: { readonly maxBytes?: number | undefined } = {},
): FormattedIndex {
  const texts = inOrder(entries).map(([cell, entry]) => JSON.stringify(descriptorOf(cell, entry)));
  const [first = [], ...rest] = chunks(texts, maxBytes);
  const head = {
    [annotations.format]: indexFormat,
    [annotations.title]: name,
    [annotations.version]: version,
    ...(prefer.length === 0 ? {} : { [annotations.prefer]: JSON.stringify(prefer) }),
  };
  const parts = rest.map((chunk, index) =>
    manifestOf(chunk, { ...head, [annotations.part]: String(index + 1) }),
  );
  const top = manifestOf([...first, ...parts.map((part) => JSON.stringify(partDescriptor(part)))], head);
  return { top, parts };
}

/**
 * The order of the entries. An engine that pulls the version's tag takes the first entry of its platform: containerd sorts
 * by platform only and keeps the order otherwise (`images.Manifest`), and Docker takes the first that matches. So each
 * platform's least demanding CPU image goes first: it is the one that starts everywhere. The platform with the most
 * images leads. Then all others, the undemanding before the demanding.
 */
function inOrder(entries: FleetIndex["entries"]): [string, IndexEntry][] {
  const counts = new Map<string, number>();
  for (const { image } of entries.values()) counts.set(image.platform, (counts.get(image.platform) ?? 0) + 1);
  const sorted = [...entries].sort(
    ([one, { image: a }], [other, { image: b }]) =>
      (counts.get(b.platform) ?? 0) - (counts.get(a.platform) ?? 0) ||
      compareText(a.platform, b.platform) ||
      compareDemand(a, b) ||
      compareText(one, other),
  );
  const seen = new Set<string>();
  const baselines = sorted.filter(([, { image }]) => {
    const isFirst = !seen.has(image.platform);
    seen.add(image.platform);
    return isFirst;
  });
  return [...baselines, ...sorted.filter((entry) => !baselines.includes(entry))];
}

const modes = ["host", "compat", "bundled"] as const;

/** Negative when `a` runs on more hosts: no GPU code, fewer CPU features, a driver from the host, an older toolkit. */
function compareDemand(one: IndexedImage, other: IndexedImage): number {
  const [a, b] = [neededRequirement(one), neededRequirement(other)];
  const mode = ({ cuda }: IndexedImage["requires"]): number =>
    cuda === null ? 0 : modes.indexOf(cuda.driver.mode);
  const toolkit = ({ cuda }: IndexedImage["requires"]): readonly number[] =>
    (cuda?.toolkit ?? "0").split(".").map(Number);
  return (
    Number(a.cuda !== null) - Number(b.cuda !== null) ||
    a.cpu.features.length - b.cpu.features.length ||
    mode(a) - mode(b) ||
    compareNumbers(toolkit(a), toolkit(b)) ||
    (b.cuda?.code.length ?? 0) - (a.cuda?.code.length ?? 0)
  );
}

function descriptorOf(cell: string, { image, descriptor }: IndexEntry): Record<string, unknown> {
  const measured = measuredOf(image);
  const { mediaType, digest, size } = descriptor;
  const [os, architecture, variant] = image.platform.split("/");
  return {
    mediaType,
    digest,
    size,
    platform: { architecture, os, ...(variant === undefined ? {} : { variant }) },
    annotations: {
      [annotations.axes]: JSON.stringify(canonical(image.axes)),
      [annotations.cell]: cell,
      ...(image.digest === digest ? {} : { [annotations.digest]: image.digest }),
      [annotations.inputs]: image.inputDigest,
      ...(measured === undefined ? {} : { [annotations.measured]: JSON.stringify(canonical(measured)) }),
      [annotations.requires]: JSON.stringify(canonical(neededRequirement(image))),
      [annotations.tag]: image.tag,
    },
  };
}

/** As BuildKit marks its attestations, so that no engine takes a part for an image. */
function partDescriptor({ mediaType, digest, size }: Manifest): Record<string, unknown> {
  const platform = { architecture: "unknown", os: "unknown" };
  return { mediaType, digest, size, platform, annotations: { [annotations.part]: "" } };
}

function manifestOf(entries: readonly string[], notes: Readonly<Record<string, string>>): Manifest {
  const mediaType = indexTypes.oci;
  const head = `{"schemaVersion":2,"mediaType":${JSON.stringify(mediaType)},"manifests":[`;
  const bytes = Buffer.from(
    `${head}${entries.join(",")}],"annotations":${JSON.stringify(canonical(notes))}}`,
  );
  return { mediaType, digest: digestOf(bytes), size: bytes.byteLength, bytes };
}

function chunks(texts: readonly string[], maxBytes: number): string[][] {
  const result: string[][] = [[]];
  let room = maxBytes;
  for (const text of texts) {
    const bytes = Buffer.byteLength(text) + 1;
    if (bytes > room && result.at(-1)?.length !== 0) {
      result.push([]);
      room = maxBytes;
    }
    result.at(-1)?.push(text);
    room -= bytes;
  }
  return result;
}

/** Whether two entries say the same of an image; their descriptors follow from its digest. */
export function sameImage(one: IndexedImage, other: IndexedImage): boolean {
  const [mine, theirs] = [one, other].map((image) => {
    const said = { ...image, requires: neededRequirement(image), measured: measuredOf(image) };
    return JSON.stringify(canonical(said));
  });
  return mine === theirs;
}

function compareNumbers(one: readonly number[], other: readonly number[]): number {
  for (const [index, part] of one.entries()) {
    const difference = part - (other[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}
