/** An image of the container engine: as the archive of `docker save`, and its layers. */

import { imagePath, readLayers } from "../../oci/engine/engine-answers.ts";
import { connectDocker } from "../../oci/engine/api.ts";
import type { Environment } from "../../io/world.ts";
import type { Layer } from "../../oci/image-layers.ts";

/** Throws `ENGINE_…` while it is read. */
export async function* engineArchive(
  env: Environment,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const api = await connectDocker(env);
  yield* api.bytes("GET", `${imagePath(name)}/get`, { signal });
}

/** Throws `ENGINE_…`, also where it has no image of this name. */
export async function engineLayers(
  env: Environment,
  name: string,
  signal: AbortSignal,
): Promise<readonly Layer[]> {
  return readLayers(await connectDocker(env), name, signal);
}
