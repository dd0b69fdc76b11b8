/** Cells in groups of a size that one stack works well with. Pure. */

import { groupBy } from "../io/collections.ts";
import type { Cell } from "../fleet/cells/cell.ts";

/**
 * Images in one stack. The whole state is written again after every step, so each image costs more as the stack grows: see
 * docs/pulumi.md for the figures.
 */
const shardLimit = 500;

/**
 * Stack name → its cells. One stack where they all fit; else one for each value of the first axis, or of the first two, and
 * so on, until no group is larger than `limit`: a new cell then joins its group and moves no other.
 */
export function shardCells(
  stack: string,
  cells: readonly Cell[],
  limit = shardLimit,
): ReadonlyMap<string, readonly Cell[]> {
  const axes = Object.keys(cells[0]?.axes ?? {}).length;
  for (let depth = 0; ; depth++) {
    const groups = groupBy(cells, (cell) => {
      const values = Object.values(cell.axes).slice(0, depth);
      return [stack, ...values].map(stackNamePart).join("-").slice(0, 100);
    });
    if (depth >= axes || [...groups.values()].every(({ length }) => length <= limit)) return groups;
  }
}

/** Pulumi: letters, digits, `_`, `-` and `.`, at most 100. */
function stackNamePart(text: string): string {
  return text.replace(/[^A-Za-z0-9_.-]/g, "_");
}
