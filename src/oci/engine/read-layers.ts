/** The layers of an image of the engine. */

import { type Layer, layersOfHistory } from "../image-layers.ts";
import { imageAnswer, imageHistory } from "./engine-answers.ts";
import type { DockerApi } from "./api.ts";

/** `id`: of the image, or a name of it. */
export async function readLayers(api: DockerApi, id: string, signal: AbortSignal): Promise<readonly Layer[]> {
  const [image, history] = await Promise.all([
    api.read(`/images/${id}/json`, imageAnswer, { signal }),
    api.read(`/images/${id}/history`, imageHistory, { signal }),
  ]);
  return layersOfHistory(image.RootFS.Layers, history.map(({ CreatedBy }) => CreatedBy).reverse());
}
