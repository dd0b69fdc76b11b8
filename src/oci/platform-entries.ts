/** Lists the images of an index, and chooses one for a platform (OCI image-spec, `image-index.md`). */

import { isRecord, text } from "../io/json.ts";
import { type Digest, isDigest } from "./digest.ts";

interface PlatformEntry {
  readonly digest: unknown;
  /** `os/architecture`, or `os/architecture/variant`; null if the entry names none. */
  readonly platform: string | null;
}

/** In the index's order. */
export function platformEntries(index: unknown): readonly PlatformEntry[] {
  const entries = isRecord(index) && Array.isArray(index.manifests) ? index.manifests.filter(isRecord) : [];
  return entries.map(({ digest, platform }) => ({ digest, platform: platformName(platform) }));
}

/** `linux/arm64/v8` from an index's platform or an image's configuration; null if that names none. */
export function platformName(platform: unknown): string | null {
  if (!isRecord(platform) || text(platform.os) === null || text(platform.architecture) === null) return null;
  return [platform.os, platform.architecture, platform.variant].filter((part) => text(part)).join("/");
}

/**
 * The entry for a platform. If there is none, an only image without a platform counts: a layout's own index often names none.
 * `isNot` says what the index has instead.
 */
export function entryFor(index: unknown, platform: string): Digest | { readonly isNot: string } {
  // BuildKit lists attestations as unknown/unknown.
  const images = platformEntries(index).filter((entry) => !entry.platform?.startsWith("unknown/"));
  const [only] = images.length === 1 ? images : [];
  // linux/arm64 also means linux/arm64/v8; an exact match goes first.
  const found =
    images.find((image) => image.platform === platform) ??
    images.find((image) => image.platform?.startsWith(`${platform}/`)) ??
    (only?.platform === null ? only : undefined);
  if (isDigest(found?.digest)) return found.digest;
  const has = images.flatMap((image) => image.platform ?? []);
  const others = has.length === 0 ? "and none for another platform" : `only for ${has.join(", ")}`;
  return { isNot: `its index has no image for ${platform}, ${others}` };
}
