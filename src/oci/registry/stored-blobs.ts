/** The blobs of an image in a registry, from its manifest. */

import { fieldsOf } from "../../io/json.ts";
import { isDigest, isSize } from "../digest.ts";

/** Bytes of an image's configuration and of each layer, as its manifest has them, by the first 16 hexadecimal digits of their digests. */
export type StoredBlobs = Readonly<Record<string, number>>;

/** More layers than any runtime mounts are no image's. */
const mostBlobs = 1000;

/**
 * A blob that several images have is stored once. null where one has no digest or no size. Layers that lie elsewhere
 * (`nondistributable`, OCI image-spec `layer.md`) take nothing.
 */
export function storedBlobs(manifest: unknown): StoredBlobs | null {
  const { config, layers } = fieldsOf(manifest);
  if (!Array.isArray(layers) || layers.length >= mostBlobs) return null;
  const blobs: Record<string, number> = {};
  for (const each of [config, ...layers]) {
    const { digest, size, mediaType } = fieldsOf(each);
    if (!isDigest(digest) || !isSize(size)) return null;
    if (typeof mediaType === "string" && /nondistributable|\.foreign\./.test(mediaType)) continue;
    blobs[digest.slice("sha256:".length, "sha256:".length + 16)] = size;
  }
  return blobs;
}
