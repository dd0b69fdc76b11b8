/** Reads the sizes of an image's blobs from its manifest. */

import type { StoredBlobs } from "../../lock/lock.ts";
import { fieldsOf } from "../../io/json.ts";
import { isDigest, isSize } from "../digest.ts";

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
