/** Opens an image in a registry, without an engine. */

import { ImgmatchError } from "../../errors.ts";
import { parseJson } from "../../io/json.ts";
import { isIndexType } from "../../oci/media-types.ts";
import { platformEntries } from "../../oci/platform-entries.ts";
import { formatImageReference, type ImageReference, withDigest } from "../../oci/reference.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { selectPlatformManifest } from "../../oci/registry/platform-image.ts";
import { RegistryError } from "../../oci/registry/registry-error.ts";
import type { Chunks } from "./chunks.ts";
import { configParts, manifestParts } from "./manifest.ts";
import { type OpenedImage, type OpenOptions, openLayers } from "./open-layers.ts";

/** null if the registry has no such reference. Throws what the registry throws, and `IMAGE_INVALID`. */
export async function openFromRegistry(
  client: Pick<RegistryClient, "readManifest" | "readBlob" | "streamBlob">,
  reference: ImageReference,
  options: OpenOptions,
): Promise<OpenedImage | null> {
  const name = formatImageReference(reference);
  const top = await client.readManifest(reference);
  if (top === null) return null;
  const digest = isIndexType(top.mediaType)
    ? selectPlatformManifest(top, reference, options.platform)
    : top.digest;
  const manifest = digest === top.digest ? top : await client.readManifest(withDigest(reference, digest));
  if (manifest === null)
    throw new ImgmatchError({
      code: "IMAGE_NOT_FOUND",
      message: `${name}: its index names ${digest}, which the registry does not have`,
      fix: "push the image again, or look at the registry's clean-up rules",
    });
  const parts = manifestParts(parseJson(manifest.bytes), name);
  const config = parseJson(await client.readBlob(reference, parts.config));
  // The client compares the digest of what it streams.
  const layers = await openLayers(parts.layers, name, options, ({ digest, size }, layer) => ({
    chunks: named(client.streamBlob(reference, digest, size), layer),
    digest: null,
  }));
  const rows = isIndexType(top.mediaType) ? platformEntries(parseJson(top.bytes)) : [];
  const row = rows.find((each) => each.digest === digest)?.platform ?? null;
  return { source: "registry", name, digest, layers, row, ...configParts(config) };
}

/** Errors of the registry name the layer. */
async function* named(chunks: Chunks, layer: string): AsyncGenerator<Uint8Array> {
  try {
    yield* chunks;
  } catch (error) {
    throw error instanceof RegistryError ? error.of(layer) : error;
  }
}
