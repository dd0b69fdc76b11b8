/** The engines that there are. Adding one is one folder and one line. */

import type { Environment } from "../../docker/endpoint.ts";
import type { CredentialStore } from "../../registry/credential.ts";
import type { Engine } from "../engine.ts";
import { createBuildxEngine } from "./buildx/engine.ts";
import type { CacheOptions } from "./cache.ts";
import { createDockerEngine } from "./docker/engine.ts";
import { createPodmanEngine } from "./podman/engine.ts";
import { createPulumiEngine } from "./pulumi/engine.ts";
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

export const engines = {
  docker: createDockerEngine,
  buildx: createBuildxEngine,
  podman: createPodmanEngine,
  pulumi: createPulumiEngine,
} as const satisfies Record<string, (options: EngineOptions) => Promise<Engine>>;

export type EngineName = keyof typeof engines;
