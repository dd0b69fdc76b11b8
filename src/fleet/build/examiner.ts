/** What looks into a built image before others see it. Building knows that there is such a thing; `inspect/` has the one that opens images. */

import type { Problem } from "../../errors.ts";
import type { Measured } from "../../lock/lock.ts";
import type { ImageReference } from "../../oci/reference.ts";
import type { BuildWatch, BuiltImage } from "./engine.ts";

export interface Examiner {
  /**
   * Throws `AUDIT_…` for what the matrix declares and the image's files show to be untrue: the cell fails, and no tag is written.
   * An image that cannot be opened is a warning, and never a failure.
   */
  examine(subject: ExaminedImage, watch: BuildWatch): Promise<Examination>;
}

export interface ExaminedImage {
  /** Cell id. */
  readonly cell: string;
  /** As the engine has it, or where the registry does. */
  readonly image: BuiltImage | ImageReference;
}

export interface Examination {
  /** For the lock; null where nothing was measured. */
  readonly measured: Measured | null;
  readonly warnings: readonly Problem[];
}

export const unexamined: Examination = { measured: null, warnings: [] };
