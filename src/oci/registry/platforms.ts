/** For which platforms a reference has an image. */

import type { RegistryClient } from "./client.ts";
import { isIndexType } from "../media-types.ts";
import type { ImageReference } from "../reference.ts";
import { parseJson } from "../../io/json.ts";
import { platformEntries } from "../platform-entries.ts";

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
  return platformEntries(parseJson(manifest.bytes)).flatMap(({ platform }) =>
    platform === null || platform.startsWith("unknown/") ? [] : [platform],
  );
}
