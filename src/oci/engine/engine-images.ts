/** The images of an engine of this machine, in one form whichever it is. */

import type { Environment } from "../../io/world.ts";
import type { LocalEngine } from "../../lock/lock.ts";
import { connectDocker, EngineRefusal } from "./api.ts";
import { imagePath } from "./engine-answers.ts";
import { describePodmanImage, findPodman, findPodmanImage, podmanArchive } from "./podman-images.ts";

export interface EngineImages {
  /** For messages: `docker at unix:///var/run/docker.sock`, `podman 4.3.1`. */
  readonly shown: string;
  /** What the engine says of an image, in the words of Docker's API; null if it has no such image. Throws `ENGINE_…`. */
  describe(name: string): Promise<unknown>;
  /** An archive of `docker save`. */
  save(name: string): AsyncIterable<Uint8Array>;
}

/** Throws `ENGINE_NOT_FOUND`, `ENGINE_UNREACHABLE`. */
export async function openEngineImages(
  env: Environment,
  engine: LocalEngine,
  signal?: AbortSignal,
): Promise<EngineImages> {
  return engine === "podman" ? ofPodman(env, signal) : ofDocker(env);
}

async function ofDocker(env: Environment): Promise<EngineImages> {
  const api = await connectDocker(env);
  return {
    shown: `docker at ${api.endpoint.shown}`,
    async describe(name) {
      try {
        return await api.json("GET", `${imagePath(name)}/json`);
      } catch (error) {
        if (error instanceof EngineRefusal && error.status === 404) return null;
        throw error;
      }
    },
    save: (name) => api.bytes("GET", `${imagePath(name)}/get`),
  };
}

async function ofPodman(env: Environment, signal: AbortSignal | undefined): Promise<EngineImages> {
  const podman = await findPodman(env, signal);
  return {
    shown: `${podman.program} ${podman.version}`,
    async describe(name) {
      const id = await findPodmanImage(podman, name);
      return id && describePodmanImage(podman, id);
    },
    async *save(name) {
      const id = await findPodmanImage(podman, name);
      if (id !== null) yield* podmanArchive(podman, id);
    },
  };
}
