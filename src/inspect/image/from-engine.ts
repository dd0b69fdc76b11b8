/** An image of the container engine as the archive of `docker save`. */

import { connectDocker } from "../../docker/api.ts";
import type { Environment } from "../../docker/endpoint.ts";

/** Throws `ENGINE_…` while it is read. */
export async function* engineArchive(
  env: Environment,
  name: string,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const api = await connectDocker(env);
  yield* api.bytes("GET", `/images/${name.split("/").map(encodeURIComponent).join("/")}/get`, { signal });
}
