/** Opens an image of the container engine: the archive that `docker save` writes, or the layers. */

import { ImgmatchError } from "../../errors.ts";
import type { Environment } from "../../io/world.ts";
import { connectDocker } from "../../oci/engine/api.ts";
import { imagePath } from "../../oci/engine/engine-answers.ts";
import { openFromArchive } from "./from-archive.ts";
import type { OpenedImage, OpenOptions } from "./open-layers.ts";

/** The engine, and its description of an image. null without an engine, or if it has no such image. */
export async function findInEngine(env: Environment, name: string) {
  try {
    const api = await connectDocker(env);
    return { api, description: await api.json("GET", `${imagePath(name)}/json`) };
  } catch (error) {
    if (error instanceof ImgmatchError) return null;
    throw error;
  }
}

/** null without an engine, or if it has no such image. */
export async function openFromEngine(
  env: Environment,
  name: string,
  options: OpenOptions,
): Promise<OpenedImage | null> {
  const found = await findInEngine(env, name);
  return found && openFromArchive(found.api.bytes("GET", `${imagePath(name)}/get`), name, "engine", options);
}
