/** Reads the sizes of an image's blobs from its manifest. */

import { fieldsOf } from "../../io/json.ts";
import { isDigest, isSize } from "../digest.ts";

/** Bytes of an image's configuration and layers, by the first 16 hexadecimal digits of their digests. */
export type StoredBlobs = Readonly<Record<string, number>>;

/** No runtime mounts so many layers. */
const mostBlobs = 1000;

/** null if a blob has no digest or size. Layers that are stored elsewhere (`nondistributable`, OCI image-spec `layer.md`) are left out. */
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
