/** Base images that no registry has, looked for in what builds. */

import { connectDocker } from "../../../oci/engine/api.ts";
import type { Environment } from "../../../io/world.ts";
import { findLocalBaseId } from "../../../oci/engine/tag-local-bases.ts";
import type { LocalEngine, LockedLocal } from "../../../lock/lock.ts";
import { isDigest } from "../../../oci/digest.ts";
import { engineOfBuilder, inspectBuilder, seesNoImages } from "./buildx/inspect-builder.ts";
import type { EngineName } from "./engine-traits.ts";
import { findPodmanImage, findProgram } from "./podman/find-podman-image.ts";

/**
 * Name → the image that this engine builds on, or null where it has none of that name. Throws `BASE_UNRESOLVED` for a buildx builder that is not inside an
 * engine, and `ENGINE_…`.
 */
export async function createLocalBaseLookup(
  engine: EngineName,
  env: Environment,
  builder?: string,
): Promise<(ref: string) => Promise<LockedLocal | null>> {
  if (engine === "podman") {
    const { program } = await findProgram(env);
    return async (ref) => found("podman", await findPodmanImage(program, env, ref));
  }
  const api = await connectDocker(engine === "buildx" ? await engineEnv(env, builder) : env);
  return async (ref) => found("docker", await findLocalBaseId(api, ref));
}

function found(engine: LocalEngine, id: string | null): LockedLocal | null {
  return isDigest(id) ? { engine, id } : null;
}

async function engineEnv(env: Environment, builder: string | undefined): Promise<Environment> {
  const facts = await inspectBuilder(env, builder === undefined ? [] : ["--builder", builder]);
  if (facts.driver === "docker") return engineOfBuilder(env, facts);
  throw seesNoImages(facts);
}
