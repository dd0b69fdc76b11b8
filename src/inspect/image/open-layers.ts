/** The layers of an image that names them in order: each from the cache, or opened and kept, some of them side by side. */

import pLimit from "p-limit";
import type { Digest } from "../../oci/digest.ts";
import { layersAtOnce } from "../workers/shared-inspector.ts";
import type { LayerInspection } from "./layer.ts";
import type { OpenedImage, OpenOptions } from "./opened-image.ts";

type Open<Layer> = (layer: Layer, name: string, onBytes: (count: number) => void) => Promise<LayerInspection>;

/** Throws what the lowest layer throws that does not open, as if they were opened one after the other. */
export async function openLayers<Layer extends { readonly digest: Digest }>(
  layers: readonly Layer[],
  name: string,
  { cache, onProgress = () => {} }: OpenOptions,
  open: Open<Layer>,
  atOnce = layersAtOnce(),
): Promise<OpenedImage["layers"]> {
  let done = 0;
  let bytes = 0;
  let failed = Number.POSITIVE_INFINITY;
  const tell = () => onProgress({ layer: done, layers: layers.length, bytes });
  /** What stands above a layer that failed is not read on. */
  const goOn = (index: number) => {
    if (index > failed) throw new Error("a lower layer cannot be opened");
  };
  const openOne = async (layer: Layer, index: number) => {
    goOn(index);
    tell();
    const known = await cache.find(layer.digest);
    const found =
      known ??
      (await open(layer, `layer ${index + 1} of ${name}`, (count) => {
        goOn(index);
        bytes += count;
        tell();
      }));
    if (known === null) await cache.keep(layer.digest, found);
    done++;
    return { ...found, digest: layer.digest };
  };
  const limit = pLimit(atOnce);
  const results = await Promise.allSettled(
    layers.map((layer, index) =>
      limit(async () => {
        try {
          return await openOne(layer, index);
        } catch (error) {
          failed = Math.min(failed, index);
          throw error;
        }
      }),
    ),
  );
  tell();
  return results.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}
