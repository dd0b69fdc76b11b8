/** The images of the engines of this machine: images it keeps, and bases that no registry has. */

import { connectDocker } from "../../oci/engine/api.ts";
import type { Environment } from "../../io/world.ts";
import { allImageIds } from "../../oci/engine/engine-answers.ts";
import { findLocalBaseId } from "../../oci/engine/tag-local-bases.ts";
import type { LocalEngine, LockedLocal } from "../../lock/lock.ts";
import { isDigest } from "../../oci/digest.ts";
import { engineOfBuilder, inspectBuilder, seesNoImages } from "./buildx/inspect-builder.ts";
import type { EngineName } from "./engine-traits.ts";
import { findPodman, findPodmanImage, podmanImageIds } from "../../oci/engine/podman-images.ts";

/**
 * Name → the image that this engine builds on, or null if the engine has no image of the name. Throws `BASE_UNRESOLVED` for a buildx builder
 * that is not inside an engine, and `ENGINE_…`.
 */
export async function createLocalBaseLookup(
  engine: EngineName,
  env: Environment,
  builder?: string,
): Promise<(ref: string) => Promise<LockedLocal | null>> {
  if (engine === "podman") {
    const podman = await findPodman(env);
    return async (ref) => found("podman", await findPodmanImage(podman, ref));
  }
  const api = await connectDocker(engine === "buildx" ? await engineEnv(env, builder) : env);
  return async (ref) => found("docker", await findLocalBaseId(api, ref));
}

function found(engine: LocalEngine, id: string | null): LockedLocal | null {
  return isDigest(id) ? { engine, id } : null;
}

async function engineEnv(env: Environment, builder: string | undefined): Promise<Environment> {
  const facts = await inspectBuilder(env, builder);
  if (facts.driver === "docker") return engineOfBuilder(env, facts);
  throw seesNoImages(facts);
}

/** The ids of all, `sha256:…`. Throws `ENGINE_…` where the engine cannot be asked. */
export async function heldImages(engine: LocalEngine, env: Environment): Promise<ReadonlySet<string>> {
  if (engine === "docker") return new Set(await allImageIds(await connectDocker(env)));
  return new Set(await podmanImageIds(await findPodman(env)));
}
