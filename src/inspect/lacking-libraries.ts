/** Finds libraries with GPU code, but none for a host's GPUs, beside libraries with such code. */

import {
  answerOfSide,
  releaseOf,
  type Requirement,
  type Side,
  sidesOf,
  withSide,
} from "../lock/requirement.ts";
import { noDigest } from "../oci/digest.ts";
import { askWithoutCache, checkFitBy } from "../resolve/check-fit.ts";
import type { HostView } from "../resolve/host-view.ts";
import type { Misfit } from "../resolve/verdict.ts";
import type { ImageInspection } from "./inspection.ts";
import { vendorCode } from "./vendor-code.ts";

export interface LackingLibrary {
  readonly path: string;
  readonly misfit: Misfit;
  /** The vendor of the GPU made it: a program may do without. */
  readonly isOfVendor: boolean;
}

/** Only of an image that fits. None if it carries several of a kind: then not every library is loaded. */
export function lackingLibraries(
  { files }: ImageInspection,
  requires: Requirement,
  platform: string,
  view: HostView,
): readonly LackingLibrary[] {
  const [side, ...others] = sidesOf(requires);
  if (side === undefined || others.length > 0 || side.needs.or !== undefined) return [];
  const { libraries, codeOf, isOfVendor } = vendorCode[side.vendor];
  return libraries(files).flatMap((library) => {
    const { path, targets } = library;
    if (targets.length === 0) return [];
    const code = codeOf(library, answerOfSide(releaseOf, side));
    const own = withSide(requires, { ...side, needs: { ...side.needs, code } } as Side);
    const misfit = checkFitBy(
      askWithoutCache,
      { platform, requires: own, axes: {}, digest: noDigest },
      view,
      {},
    );
    return misfit.ok ? [] : [{ path, misfit, isOfVendor: isOfVendor(path) }];
  });
}
