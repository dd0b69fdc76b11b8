/** Which images an engine of this machine has. */

import { connectDocker } from "../../../oci/engine/api.ts";
import type { Environment } from "../../../io/world.ts";
import { heldIds } from "../../../oci/engine/engine-answers.ts";
import type { LocalEngine } from "../../../lock/lock.ts";
import { podmanIds } from "./podman/podman-scratch.ts";

/** Their ids, `sha256:…`. Throws `ENGINE_…` where the engine cannot be asked. */
export async function heldImages(engine: LocalEngine, env: Environment): Promise<ReadonlySet<string>> {
  return new Set(engine === "docker" ? await heldIds(await connectDocker(env)) : await podmanIds(env));
}
