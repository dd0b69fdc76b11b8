/** The trial of a cure: an image, a host, and the question whether they fit. */

import type { LockedImage } from "../lock/lock.ts";
import type { FindCells } from "./find-cell.ts";
import type { HostView } from "./host-view.ts";
import type { ReasonCode } from "./verdict.ts";

type TriedImage = Pick<LockedImage, "platform" | "requires" | "measured" | "adopted" | "axes">;

/** The reasons against an image on a host, without cures. */
export type Trial = (image: TriedImage, host: HostView) => ReadonlySet<ReasonCode>;

export interface TrialOf {
  readonly image: TriedImage;
  readonly host: HostView;
  readonly trial: Trial;
  /** Finds the other cells of the lock. */
  readonly existing: FindCells | undefined;
  /** Ids of the images that an engine of this machine has. Undefined where no engine is asked. */
  readonly local: ReadonlySet<string> | undefined;
}
