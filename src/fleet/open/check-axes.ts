/** Before anything is built: hardware axes that make no difference to the images. */

import { throwProblems } from "../../errors.ts";
import type { Cell } from "../cells/cell.ts";
import type { ExpandedCell } from "../cells/expand.ts";
import { selectCells } from "../plan/plan-fleet.ts";
import type { Selection } from "../cells/select.ts";
import { axisNeighbours, ignoredAxes } from "../dockerfile/ignored-axes.ts";
import type { Fleet } from "./open-fleet.ts";

/**
 * The chosen cells that can be built. Throws `TEMPLATE_IGNORES_AXIS` where cells that can be built differ in an axis while their Dockerfiles say
 * the same. The chosen are compared with those that differ from them in one axis, whether these are chosen or not.
 */
export function checkedCells(fleet: Fleet, only: readonly Selection[]): readonly Cell[] {
  const buildable = (cells: readonly ExpandedCell[]) =>
    cells.flatMap(({ cell, skipped }) => (skipped === null ? [cell] : []));
  const [all, chosen] = [buildable(fleet.cells), buildable(selectCells(fleet.cells, only))];
  const cells = chosen.length === all.length ? all : axisNeighbours(chosen, all);
  // One Dockerfile makes different images of two folders.
  const effectOf = (cell: Cell) => `${fleet.dockerfileOf(cell).effect} ${fleet.folderOf(cell).dir}`;
  throwProblems(ignoredAxes(cells, effectOf, fleet.matrix));
  return chosen;
}
