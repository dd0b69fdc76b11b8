/** What attests how a pushed image was built, before it has its tag. Building knows that there is such a thing; `fleet/` has the one for registries. */

import type { LockedAttestation } from "../../lock/lock.ts";
import type { ImageReference } from "../../oci/reference.ts";
import type { BuildWatch } from "./engine.ts";

export interface Attester {
  readonly now: () => Date;
  /** Throws where it cannot: then nothing gets the image's name. Answers what the lock says of it. */
  attest(build: PushedBuild, watch: BuildWatch): Promise<LockedAttestation>;
}

export interface PushedBuild {
  /** Cell id. */
  readonly cell: string;
  /** By digest. */
  readonly pushed: ImageReference;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}
