/** What the steps of every build are given, and no image, log or digest has. */

import type { BuildSecret } from "./build-secrets.ts";
import type { BuildSsh } from "./ssh.ts";

export interface StepOptions {
  /** For steps that mount them. */
  readonly secrets?: readonly BuildSecret[] | undefined;
  /** For steps that mount them. */
  readonly ssh?: readonly BuildSsh[] | undefined;
  /** `none`, `host`, `default`, which is the engine's own, or with Podman a network's name. Default: `default`. */
  readonly network?: string | undefined;
}
