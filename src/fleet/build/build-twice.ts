/** Whether a cell builds the same image again: twice without cache, and the layers compared. */

import type { BuildRequest, BuildWatch, Engine } from "./engine.ts";
import type { Layer } from "../../oci/image-layers.ts";

export interface ReproReport {
  readonly reproducible: boolean;
  /** Of the first build. */
  readonly layers: number;
  /** null when all layers are equal. */
  readonly difference: LayerDifference | null;
  /** The images' ids; they differ also where only times in the configuration do. */
  readonly ids: readonly [string, string];
}

export interface LayerDifference {
  /** From 1, the base's layers included. */
  readonly number: number;
  readonly createdBy: string | null;
  /** null where one build has fewer layers. */
  readonly diffIds: readonly [string | null, string | null];
}

/**
 * Throws what the engine throws. One build after the other: at the same time an engine would make one of the two.
 * The engine has the same images afterwards as before.
 */
export async function buildTwice(
  engine: Pick<Engine, "build" | "layers" | "scratch">,
  request: BuildRequest,
  watch: BuildWatch,
): Promise<ReproReport> {
  const once = async () => {
    const image = await engine.build({ ...request, noCache: true, tags: [] }, watch);
    return { id: image.id, layers: await engine.layers(image, watch) };
  };
  const sweep = await engine.scratch(watch.onLog);
  try {
    const one = await once();
    const other = await once();
    const difference = firstDifference(one.layers, other.layers);
    return {
      reproducible: difference === null,
      layers: one.layers.length,
      difference,
      ids: [one.id, other.id],
    };
  } finally {
    await sweep();
  }
}

export function firstDifference(one: readonly Layer[], other: readonly Layer[]): LayerDifference | null {
  for (let index = 0; index < Math.max(one.length, other.length); index++) {
    const [a, b] = [one[index], other[index]];
    if (a?.diffId === b?.diffId) continue;
    return {
      number: index + 1,
      createdBy: a?.createdBy ?? b?.createdBy ?? null,
      diffIds: [a?.diffId ?? null, b?.diffId ?? null],
    };
  }
  return null;
}
