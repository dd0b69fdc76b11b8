/** The layers of an image of the engine. */

import type { Layer } from "../../engine.ts";
import { layersOfHistory } from "../image-layers.ts";
import type { DockerApi } from "../../../docker/api.ts";

/** `id`: of the image, or a name of it. */
export async function readLayers(api: DockerApi, id: string, signal: AbortSignal): Promise<readonly Layer[]> {
  const [image, history] = await Promise.all([
    api.json("GET", `/images/${id}/json`, { signal }),
    api.json("GET", `/images/${id}/history`, { signal }),
  ]);
  const { RootFS } = image as { readonly RootFS?: { readonly Layers?: readonly string[] } };
  const createdBy = (history as readonly { readonly CreatedBy: string }[]).map(({ CreatedBy }) => CreatedBy);
  return layersOfHistory(RootFS?.Layers ?? [], createdBy.reverse());
}
