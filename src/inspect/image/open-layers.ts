/** The layers of an image that names them in order: each from the cache, or opened and kept. */

import type { Digest } from "../../oci/digest.ts";
import type { LayerInspection } from "./layer.ts";
import type { OpenedImage, OpenOptions } from "./opened-image.ts";

export async function openLayers<Layer extends { readonly digest: Digest }>(
  layers: readonly Layer[],
  name: string,
  { cache, onProgress = () => {} }: OpenOptions,
  open: (layer: Layer, name: string, onBytes: (count: number) => void) => Promise<LayerInspection>,
): Promise<OpenedImage["layers"]> {
  const opened: OpenedImage["layers"][number][] = [];
  let bytes = 0;
  const tell = () => onProgress({ layer: opened.length, layers: layers.length, bytes });
  for (const [index, layer] of layers.entries()) {
    tell();
    let found = await cache.find(layer.digest);
    if (found === null) {
      found = await open(layer, `layer ${index + 1} of ${name}`, (count) => {
        bytes += count;
        tell();
      });
      await cache.keep(layer.digest, found);
    }
    opened.push({ ...found, digest: layer.digest });
  }
  tell();
  return opened;
}
