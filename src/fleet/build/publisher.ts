/**
 * The interface that gives a built image its name for good. Building knows that there is such a thing; `publish/` has the one for
 * registries.
 */

import type { Problem } from "../../errors.ts";
import type { LockedAttestation, LockedManifest, Measured } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import type { ImageReference } from "../../oci/reference.ts";
import type { StoredBlobs } from "../../oci/registry/stored-blobs.ts";
import type { BuildWatch, BuiltImage, Engine } from "./engine.ts";

/** The lock's facts about an image that others can find. */
export interface FoundImage {
  readonly digest: Digest;
  readonly manifest: LockedManifest;
  readonly blobs: StoredBlobs | null;
}

/** The name that an image of these inputs is to have. */
export interface ImageName {
  readonly reference: ImageReference;
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
  /** Called with what was pushed, by digest, before it has its name. If it throws, nothing gets the name. */
  readonly examine?: (pushed: ImageReference) => Promise<void>;
}

export interface Published extends FoundImage {
  /** `adopted`: the name holds an image of the same inputs that somebody else has put there. */
  readonly how: "pushed" | "adopted";
  /** Adopted, though the same inputs gave other bytes here: the build is not reproducible. */
  readonly differs: boolean;
}

/** All that happens between "built" and "in the lock". */
export interface Publisher {
  /**
   * Finds the image of the same inputs under the name, when nobody may write something else there any more; null when there is no such
   * name. Throws `TAG_CONFLICT` when it holds other inputs, `REGISTRY_…` when the registry fails.
   */
  find(request: FindRequest): Promise<FoundImage | null>;
  /** Gives the image its name, or answers who was first with the same inputs. Throws as `find`, and what `examine` throws. */
  publish(request: PublishRequest): Promise<Published>;
}

/**
 * Attests how a pushed image was built, before it has its tag. Building knows that there is such a thing; `fleet/` has the one for
 * registries.
 */
export interface Attester {
  /** Throws where it cannot: then nothing gets the image's name. Answers what the lock says of it. */
  attest(build: PushedBuild, watch: BuildWatch): Promise<LockedAttestation>;
}

export interface PushedBuild {
  readonly cell: string;
  readonly pushed: ImageReference;
  readonly startedAt: Date;
  readonly finishedAt: Date;
}

/** Looks into a built image before others see it. Building knows that there is such a thing; `inspect/` has the one that opens images. */
export interface Examiner {
  /**
   * Throws `AUDIT_…` for what the matrix declares and the image's files show to be untrue: the cell fails, and no tag is written.
   * An image that cannot be opened is a warning, and never a failure.
   */
  examine(subject: ExaminedImage, watch: BuildWatch): Promise<Examination>;
}

export interface ExaminedImage {
  readonly cell: string;
  /** As the engine has it, or where the registry does. */
  readonly image: BuiltImage | ImageReference;
}

export interface Examination {
  readonly measured: Measured | null;
  readonly warnings: readonly Problem[];
}

export const unexamined: Examination = { measured: null, warnings: [] };
