/** What the steps of every build are given, and no image, log or digest has. */

import type { BuildSecret } from "./secrets.ts";
import type { BuildSsh } from "./ssh.ts";

export interface StepOptions {
  /** For steps that mount them. The classic builder knows none. */
  readonly secrets?: readonly BuildSecret[] | undefined;
  /** For steps that mount them; the docker engine takes agents alone. Neither the classic builder nor Pulumi knows any. */
  readonly ssh?: readonly BuildSsh[] | undefined;
  /** `none`, `host`, `default`, which is the engine's own, or with Podman a network's name. Default: `default`. */
  readonly network?: string | undefined;
}
