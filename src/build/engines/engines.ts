/** The engines that there are. Adding one is one folder, one line here and one in `engine-traits.ts`. */

import { cellBuilder } from "../cell-builder.ts";
import type { Engine } from "../engine.ts";
import type { FleetBuilder } from "../fleet-builder.ts";
import { type BuildxOptions, createBuildxEngine } from "./buildx/engine.ts";
import { createDockerEngine } from "./docker/engine.ts";
import type { EngineName } from "./engine-traits.ts";
import { createPodmanEngine } from "./podman/engine.ts";
import { createPulumiBuilder, type PulumiBuilderOptions } from "./pulumi/builder.ts";

/** Of all engines; each takes what it knows. */
export type EngineOptions = BuildxOptions & PulumiBuilderOptions;

/** What builds single images; Pulumi's are built by the Docker Engine that its plug-in uses. */
export const engines = {
  docker: createDockerEngine,
  buildx: createBuildxEngine,
  podman: createPodmanEngine,
  pulumi: createDockerEngine,
} as const satisfies Record<EngineName, (options: EngineOptions) => Promise<Engine>>;

/** What builds fleets. */
export const fleetBuilders = {
  docker: async (options) => cellBuilder(await createDockerEngine(options)),
  buildx: async (options) => cellBuilder(await createBuildxEngine(options)),
  podman: async (options) => cellBuilder(await createPodmanEngine(options)),
  pulumi: createPulumiBuilder,
} as const satisfies Record<EngineName, (options: EngineOptions) => Promise<FleetBuilder>>;
