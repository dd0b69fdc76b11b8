/** All that is said against an image on a host, or how the image fits. */

import type { HostFacts } from "../../../src/facts/facts.ts";
import { checkFit, findMisfits } from "../../../src/resolve/check-fit.ts";
import { viewHost } from "../../../src/resolve/host-view.ts";
import type { ImageToFit } from "../../../src/resolve/rules/rule.ts";

/** `CODE: message | fix`, with ` @ 10` after it for a distance of 10; or `fits native sm_80`. */
export function said(image: ImageToFit, host: HostFacts): readonly string[] {
  const misfits = findMisfits(image, viewHost(host)).map(
    ({ code, message, fix, distance }) =>
      `${code}: ${message} | ${fix}${distance === undefined ? "" : ` @ ${distance}`}`,
  );
  const verdict = checkFit(image, host);
  return verdict.ok
    ? [...misfits, ["fits", verdict.tier, ...verdict.code.map(({ target }) => target)].join(" ")]
    : misfits;
}
