/** The CUDA version that a driver branch offers, for hosts that cannot be asked. */

import table from "./cuda-branches.json" with { type: "json" };
import { readRows } from "./read-rows.ts";
import type { SourceKey } from "./sources.ts";

export interface BranchRow {
  readonly branch: number;
  /** null where drivers of the branch offer different versions. */
  readonly cuda: string | null;
  /** nvidia-smi prints a CUDA version from R410 on. */
  readonly printed: boolean;
  readonly source: readonly SourceKey[];
  readonly note?: string;
}

export const branchRows = readRows<BranchRow>(table.branches);
