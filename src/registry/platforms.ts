/** For which platforms a reference has an image. */

import type { RegistryClient } from "./client.ts";
import { isRecord, parseJson, text } from "../input/json.ts";
import { isIndexType } from "../oci/media-types.ts";
import type { ImageReference } from "../oci/reference.ts";

/**
 * `os/architecture`, with the variant where there is one, in the index's order; empty for an image without an index, whose
 * configuration tells. null when the registry has no such reference.
 */
export async function readPlatforms(
  client: Pick<RegistryClient, "readManifest">,
  reference: ImageReference,
): Promise<readonly string[] | null> {
  const manifest = await client.readManifest(reference);
  if (manifest === null) return null;
  if (!isIndexType(manifest.mediaType)) return [];
  const json = parseJson(manifest.bytes);
  const entries = isRecord(json) && Array.isArray(json.manifests) ? json.manifests.filter(isRecord) : [];
  return entries
    .map(({ platform }) => (isRecord(platform) ? platform : {}))
    .map(({ os, architecture, variant }) =>
      [os, architecture, variant].filter((part) => text(part)).join("/"),
    )
    .filter((platform) => platform.includes("/") && !platform.startsWith("unknown/"));
}
