/** The GPU targets that nvcc of each toolkit compiles for. */

import table from "./cuda-targets.json" with { type: "json" };
import { readRows } from "./read-rows.ts";
import type { SourceKey } from "./sources.ts";

export interface TargetRow {
  readonly minor: string;
  /** Targets as numbers: 103 is `sm_103`. */
  readonly sm: readonly number[];
  /** Architecture- and family-specific targets: `90a`, `120f`. */
  readonly specific: readonly string[];
  readonly source: readonly SourceKey[];
  readonly note?: string;
}

/** Targets that these minors compile for, oldest first. */
const targets = readRows<Omit<TargetRow, "minor"> & { readonly minors: string }>(table.targets);

/** A row for each minor. */
export const targetRows: readonly TargetRow[] = targets.flatMap(({ minors, ...row }) =>
  minors.split(" ").map((minor) => ({ minor, ...row })),
);
