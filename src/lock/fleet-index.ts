/**
 * The index of a fleet: one OCI image index per version. Annotations hold all that `resolve` needs of each image. (OCI image-spec v1.1,
 * `image-index.md` and `annotations.md`.)
 */

import type { LockedImage } from "./lock.ts";
import { measuredOf, neededRequirement } from "./needed-requirement.ts";
import { choosingFields } from "./parse-lock.ts";
import { canonical } from "../io/canonical-json.ts";
import type { Digest } from "../oci/digest.ts";
import type { ManifestDescriptor } from "../oci/descriptor.ts";

/**
 * The only format that is read. The index shows engines one image for each platform, and an annotation has every image's true platform:
 * containerd from 2.1 on downloads all images of its own platform.
 */
export const indexFormat = "2";

/** Annotations of the index itself. */
export const annotations = {
  /** {@link indexFormat}. */
  format: "dev.imgmatch.index",
  title: "org.opencontainers.image.title",
  version: "org.opencontainers.image.version",
  /** The repository in which it was published, without the registry. A mirror has another one. */
  repository: "dev.imgmatch.repository",
  /** The tag for which it was written: a signature of the index counts under no other tag. */
  tag: "dev.imgmatch.tag",
  /** The matrix's `prefer`, as JSON. */
  prefer: "dev.imgmatch.prefer",
  /** The matrix's `plainPull`, if it is `least`. */
  plainPull: "dev.imgmatch.plain-pull",
  /** On the entry of a further index with more images, where one manifest would be too long. */
  part: "dev.imgmatch.part",
} as const;

/** An image in the index: the fields of the lock by which it is chosen. */
export type IndexedImage = Pick<LockedImage, keyof typeof choosingFields> & { readonly digest: Digest };

/** null for an image that was not pushed. */
export function indexedImage(image: LockedImage): IndexedImage | null {
  const { digest } = image;
  if (digest === null) return null;
  const fields = Object.entries(image).filter(([field]) => Object.hasOwn(choosingFields, field));
  return { ...(Object.fromEntries(fields) as Omit<IndexedImage, "digest">), digest };
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
  /** The tag for which it was written; null if it does not say so. */
  readonly tag: string | null;
  /** The criteria that resolve looks at first among images that fit; empty for the default order. */
  readonly prefer: readonly string[];
  /** `least`: runtimes see the least demanding image also where not every machine starts it. */
  readonly plainPull?: "least" | undefined;
  /** By cell. */
  readonly entries: ReadonlyMap<string, IndexEntry>;
}

/** The image that a plain pull of the version gets on one platform. */
export interface ShownImage {
  /** As runtimes see it: `linux/amd64`, or `linux/amd64/v3` for a runtime that knows its CPU's level. */
  readonly platform: string;
  /** null if runtimes see none: every image of the platform needs a GPU, or some machine cannot start the least demanding one. */
  readonly cell: string | null;
  /** The least demanding one, if some machine cannot start it. */
  readonly withheld?: string;
}

/** Compares two entries without descriptors, which follow from the digest, and without the day of deprecation, which may change. */
export function sameImage(one: IndexedImage, other: IndexedImage): boolean {
  const [mine, theirs] = [one, other].map((image) => {
    const said = {
      ...image,
      deprecated: undefined,
      requires: neededRequirement(image),
      measured: measuredOf(image),
    };
    return JSON.stringify(canonical(said));
  });
  return mine === theirs;
}
