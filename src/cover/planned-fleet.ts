/** The fleet of a matrix that is not built yet. */

import type { Matrix } from "../fleet/matrix/matrix.ts";
import { expandMatrix } from "../fleet/cells/expand.ts";
import type { CoverFleet } from "./cover-classes.ts";
import { plannedLock } from "./planned-image.ts";

/** Every cell that is to be built. Throws as `expandMatrix` does. */
export function plannedFleet(matrix: Matrix): CoverFleet {
  const cells = expandMatrix(matrix).flatMap(({ cell, skipped }) => (skipped === null ? [cell] : []));
  return { from: "plan", lock: plannedLock(matrix, cells) };
}
