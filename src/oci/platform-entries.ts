/** The images of an index, and which of them is meant for a platform (OCI image-spec, `image-index.md`). */

import { isRecord, text } from "../io/json.ts";
import { type Digest, isDigest } from "./digest.ts";

export interface PlatformEntry {
  readonly digest: unknown;
  /** `os/architecture`, with the variant where there is one; null where the entry names none. */
  readonly platform: string | null;
}

/** In the index's order. */
export function platformEntries(index: unknown): readonly PlatformEntry[] {
  const entries = isRecord(index) && Array.isArray(index.manifests) ? index.manifests.filter(isRecord) : [];
  return entries.map(({ digest, platform }) => ({ digest, platform: platformName(platform) }));
}

/** `linux/arm64/v8` of an index's platform or an image's configuration; null where it has none. */
export function platformName(platform: unknown): string | null {
  if (!isRecord(platform) || text(platform.os) === null || text(platform.architecture) === null) return null;
  return [platform.os, platform.architecture, platform.variant].filter((part) => text(part)).join("/");
}

/**
 * The entry for a platform, or else the only image, where it names no platform: a layout's own index often does not.
 * `isNot` says what the index has in its place.
 */
export function entryFor(index: unknown, platform: string): Digest | { readonly isNot: string } {
  // BuildKit's attestations stand in the index as unknown/unknown.
  const images = platformEntries(index).filter((entry) => !entry.platform?.startsWith("unknown/"));
  const [only] = images.length === 1 ? images : [];
  // An image for linux/arm64/v8 is what linux/arm64 means; an exact match goes first.
  const found =
    images.find((image) => image.platform === platform) ??
    images.find((image) => image.platform?.startsWith(`${platform}/`)) ??
    (only?.platform === null ? only : undefined);
  if (isDigest(found?.digest)) return found.digest;
  const has = images.flatMap((image) => image.platform ?? []);
  return { isNot: `its index has no image for ${platform}, only for ${has.join(", ") || "nothing"}` };
}
