/** Before anything is built: hardware axes that make no difference to the images. */

import { throwProblems } from "../errors.ts";
import type { Cell } from "../plan/cell.ts";
import { axisNeighbours, ignoredAxes } from "../render/ignored-axes.ts";
import type { Fleet } from "./open-fleet.ts";

/**
 * Throws `TEMPLATE_IGNORES_AXIS` where cells that can be built differ in `cuda`, `compute` or `march` while their Dockerfiles say
 * the same. `chosen` cells are compared with those that differ from them in one axis, whether these are chosen or not.
 */
export function checkAxes(fleet: Fleet, chosen: readonly Cell[]): void {
  const all = fleet.cells.flatMap(({ cell, skipped }) => (skipped === null ? [cell] : []));
  const cells = chosen.length === all.length ? all : axisNeighbours(chosen, all);
  throwProblems(ignoredAxes(cells, fleet.effectOf, fleet.matrix));
}
