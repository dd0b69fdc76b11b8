/** The engines. A new engine is a folder, a line here and a line in `engine-traits.ts`. */

import type { Engine } from "./engine.ts";
import { type BuildxOptions, createBuildxEngine } from "./buildx/buildx-engine.ts";
import { createDockerEngine, type DockerEngineOptions } from "./docker/docker-engine.ts";
import type { EngineName } from "./engine-traits.ts";
import { createPodmanEngine } from "./podman/podman-engine.ts";

export type EngineOptions = BuildxOptions & DockerEngineOptions;

export const engines = {
  docker: createDockerEngine,
  buildx: createBuildxEngine,
  podman: createPodmanEngine,
} as const satisfies Record<EngineName, (options: EngineOptions) => Promise<Engine>>;
