/** What was found where the files of an image were compared with what is declared of it. */

import type { Problem } from "../errors.ts";
import type { Digest } from "../oci/digest.ts";
import type { ImageReference } from "../oci/reference.ts";
import type { LockedCode, LockedLocal } from "./lock.ts";
import type { Measured, Requirement } from "./requirement.ts";

export interface DeclaredImage {
  readonly requires: Requirement;
  /** CPU features that the base declares to need (`cpuFloor`), Linux names. */
  readonly floor: readonly string[];
  /** `linux/amd64`. */
  readonly platform: string;
  /** The base of the build, by digest or by an engine's id; null for `scratch`. */
  readonly base: ImageReference | LockedLocal | null;
}

export interface ImageAudit {
  readonly measured: Measured;
  /** `AUDIT_…`: declarations that are not true. An unknown declaration, or one about unread files, is not here. */
  readonly lies: readonly Problem[];
  /** Declarations that may be true and need a look. */
  readonly notes: readonly Problem[];
  readonly effect: ImageEffect;
  readonly code?: LockedCode;
}

/** Tells whether an axis made a difference to an image. It is small: a large fleet keeps one for each cell. */
export interface ImageEffect {
  /** Digest of all programs and libraries; null if some could not be read, or the image brings none. */
  readonly code: Digest | null;
  /** Digest of all layers; null if they are unknown. Images with other layers may have the same files. */
  readonly layers: Digest | null;
  /** Digest of the settings that a container starts with; null if they are unknown. */
  readonly settings: Digest | null;
  /** The image's own programs use no feature of its march. */
  readonly ignoresMarch: boolean;
  /** Declared GPU targets that no file has, but that a compiler in the image could make at run time. */
  readonly uncompiled: readonly string[];
}
