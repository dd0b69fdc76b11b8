/** The engines that there are. Adding one is one folder, one line here and one in `engine-traits.ts`. */

import type { Environment } from "../../docker/endpoint.ts";
import type { CredentialStore } from "../../registry/credential.ts";
import { cellBuilder } from "../cell-builder.ts";
import type { Engine } from "../engine.ts";
import type { FleetBuilder } from "../fleet-builder.ts";
import { createBuildxEngine } from "./buildx/engine.ts";
import type { CacheOptions } from "./cache.ts";
import { createDockerEngine } from "./docker/engine.ts";
import type { EngineName } from "./engine-traits.ts";
import { createPodmanEngine } from "./podman/engine.ts";
import { createPulumiBuilder } from "./pulumi/builder.ts";
import type { BuildSecret } from "./secrets.ts";

export interface EngineOptions {
  readonly env: Environment;
  readonly credentials: CredentialStore;
  /** Only for `buildx`. */
  readonly builder?: string | undefined;
  readonly cache?: CacheOptions | undefined;
  /** Not for `pulumi`. */
  readonly secrets?: readonly BuildSecret[] | undefined;
  /** PEM file with certificates to trust beside the usual ones. */
  readonly ca?: string | undefined;
  /** Only for `pulumi`. */
  readonly stack?: string | undefined;
}

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
