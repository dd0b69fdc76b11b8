/**
 * The index of a fleet: one OCI image index per version, in which every image stands with, as annotations, all that `resolve`
 * needs. (OCI image-spec v1.1, `image-index.md` and `annotations.md`.)
 */

import type { LockedImage } from "./lock.ts";
import { measuredOf, neededRequirement } from "./needed-requirement.ts";
import { canonical } from "../io/canonical-json.ts";
import type { Digest } from "../oci/digest.ts";
import type { ManifestDescriptor } from "../oci/registry/client.ts";

/**
 * The only one that is read. The index shows engines one image for each of their platforms and has every image's true platform in an
 * annotation: where an engine takes several for its own, containerd from 2.1 on downloads them all.
 */
export const indexFormat = "2";

/** Of the index itself. */
export const annotations = {
  /** {@link indexFormat}. */
  format: "dev.imgmatch.index",
  title: "org.opencontainers.image.title",
  version: "org.opencontainers.image.version",
  /** The repository in which it was published, without the registry: a mirror has another one. A signature is meant for there. */
  repository: "dev.imgmatch.repository",
  /** The matrix's `prefer`, as JSON. */
  prefer: "dev.imgmatch.prefer",
  /** The matrix's `plainPull`, if it is `least`. */
  plainPull: "dev.imgmatch.plain-pull",
  /** On the entry of a further index with more images, where one manifest would be too long. */
  part: "dev.imgmatch.part",
} as const;

/** An image in the index: the parts of the lock by which it is chosen. */
export type IndexedImage = Pick<
  LockedImage,
  "axes" | "platform" | "tag" | "inputDigest" | "requires" | "measured" | "adopted"
> & {
  readonly digest: Digest;
};

/** null for an image that the registry does not have. */
export function indexedImage(image: LockedImage): IndexedImage | null {
  const { axes, platform, tag, inputDigest, digest, requires, measured, adopted } = image;
  if (digest === null) return null;
  const named = { axes, platform, tag, inputDigest, digest, requires };
  return { ...named, ...(measured && { measured }), ...(adopted && { adopted }) };
}

export interface IndexEntry {
  readonly image: IndexedImage;
  /** The image's manifest, for one platform. */
  readonly descriptor: ManifestDescriptor;
}

export interface FleetIndex {
  readonly name: string;
  readonly version: string;
  /** The repository in which it was published, without the registry; null if it does not say so. */
  readonly repository: string | null;
  /** The criteria that resolve looks at first among images that fit; empty for the default order. */
  readonly prefer: readonly string[];
  /** `least`: runtimes see the least demanding image also where not every machine starts it. */
  readonly plainPull?: "least" | undefined;
  /** By cell. */
  readonly entries: ReadonlyMap<string, IndexEntry>;
}

/** Whether two entries say the same of an image; their descriptors follow from its digest. */
export function sameImage(one: IndexedImage, other: IndexedImage): boolean {
  const [mine, theirs] = [one, other].map((image) => {
    const said = { ...image, requires: neededRequirement(image), measured: measuredOf(image) };
    return JSON.stringify(canonical(said));
  });
  return mine === theirs;
}
