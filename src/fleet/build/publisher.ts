/** What gives a built image its name for good. Building knows that there is such a thing; `publish/` has the one for registries. */

import type { LockedManifest } from "../../lock/lock.ts";
import type { StoredBlobs } from "../../oci/registry/stored-blobs.ts";
import type { Digest } from "../../oci/digest.ts";
import type { ImageReference } from "../../oci/reference.ts";
import type { BuildWatch, BuiltImage, Engine } from "./engine.ts";

/** What the lock says of an image where others find it. */
export interface FoundImage {
  readonly digest: Digest;
  readonly manifest: LockedManifest;
  /** null where its manifest does not tell. */
  readonly blobs: StoredBlobs | null;
}

/** The name that an image of these inputs is to have. */
export interface ImageName {
  /** With a tag. */
  readonly reference: ImageReference;
  /** `os/architecture`. */
  readonly platform: string;
  readonly inputDigest: Digest;
}

export interface FindRequest extends ImageName {
  /** Digest of what would be put there, where it is known: for the message of a conflict. */
  readonly ours?: Digest | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface PublishRequest extends ImageName {
  readonly engine: Pick<Engine, "push">;
  readonly image: BuiltImage;
  readonly watch: BuildWatch;
  /** Called with what was pushed, by digest, before it has its name. Where it throws, nothing gets the name. */
  readonly examine?: (pushed: ImageReference) => Promise<void>;
}

export interface Published extends FoundImage {
  /** `adopted`: the name holds an image of the same inputs that somebody else has put there. */
  readonly how: "pushed" | "adopted";
  /** Adopted, though the same inputs gave other bytes here: the build is not reproducible. */
  readonly differs: boolean;
}

/**
 * All that happens between "built" and "in the lock".
 */
export interface Publisher {
  /**
   * What the name holds of the same inputs, when nobody may write something else there any more; null when there is no such
   * name. Throws `TAG_CONFLICT` when it holds other inputs, `REGISTRY_…` when the registry fails.
   */
  find(request: FindRequest): Promise<FoundImage | null>;
  /** Gives the image its name, or answers who was first with the same inputs. Throws as `find`, and what `examine` throws. */
  publish(request: PublishRequest): Promise<Published>;
}
