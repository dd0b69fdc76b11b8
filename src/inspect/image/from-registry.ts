/** An image in a registry, layer by layer, without an engine. */

import { ImgmatchError } from "../../errors.ts";
import { parseJson } from "../../io/json.ts";
import { isIndexType } from "../../oci/media-types.ts";
import { formatImageReference, type ImageReference, withDigest } from "../../oci/reference.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { selectPlatformManifest } from "../../oci/registry/platform-image.ts";
import { RegistryError } from "../../oci/registry/registry-error.ts";
import { checked } from "./checked.ts";
import { inspectLayer } from "./layer.ts";
import { configParts, manifestParts } from "./manifest.ts";
import { type OpenedImage, type OpenOptions, openLayers } from "./open-layers.ts";

/** null when the registry has no such reference. Throws what the registry throws, and `IMAGE_INVALID`. */
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
  const layers = await openLayers(parts.layers, name, options, async ({ digest, size }, layer, onBytes) => {
    // Its digest is compared by who streams it, once the last piece has come: also of what lies behind the archive's end.
    const { chunks, finish, close } = checked(client.streamBlob(reference, digest, size), null, layer);
    try {
      const inspection = await inspectLayer(chunks, layer, onBytes, options.inspector);
      await finish();
      return inspection;
    } catch (error) {
      throw error instanceof RegistryError ? error.of(layer) : error;
    } finally {
      await close();
    }
  });
  return { source: "registry", name, digest, layers, ...configParts(config) };
}
