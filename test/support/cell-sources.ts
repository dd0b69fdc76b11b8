/** Invented sources for a plan: one Dockerfile for each cell. */

import type { Digest } from "../../src/oci/digest.ts";
import type { ExpandedCell } from "../../src/fleet/cells/expand.ts";
import type { CellSources } from "../../src/fleet/plan/plan-cells.ts";
import type { PlannedBase } from "../../src/fleet/plan/planned-cell.ts";

export interface MadeUpSources {
  readonly text?: (cell: string) => string;
  readonly args?: Readonly<Record<string, string>>;
  readonly bases?: readonly PlannedBase[];
  readonly context?: Digest;
}

export function cellSources(
  cells: readonly ExpandedCell[],
  { text = () => "FROM debian:12\n", args = {}, bases = [], context }: MadeUpSources = {},
): ReadonlyMap<string, CellSources> {
  return new Map(
    cells.map(({ cell: { id } }) => [
      id,
      {
        dockerfile: { cell: id, path: `images/${id}.Dockerfile`, text: text(id), bare: text(id), args },
        bases,
        context: {
          entries: [],
          digest: context ?? `sha256:${"a".repeat(64)}`,
          inputs: { whole: null, taken: [] },
          named: [],
        },
        rebuild: null,
      },
    ]),
  );
}
