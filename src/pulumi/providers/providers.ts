/** The providers that a fleet may be built by. A new provider is a file, a line here and a line in `stack-images.ts`. */

import type { ProviderName } from "../stack-images.ts";
import { dockerProvider } from "./docker-provider.ts";
import { dockerBuildProvider } from "./docker-build-provider.ts";
import type { ImageProvider } from "./provider.ts";

/** Each throws `ENGINE_NOT_FOUND` where its package is not installed. */
export const imageProviders = {
  docker: dockerProvider,
  "docker-build": dockerBuildProvider,
} as const satisfies Record<ProviderName, () => ImageProvider>;
