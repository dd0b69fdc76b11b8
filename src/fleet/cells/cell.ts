/** One combination of axis values: one image to be. */

import type { Requirement } from "../../lock/requirement.ts";
import type {
  AccelValue,
  AxisValue,
  ComputeValue,
  FreeValue,
  MarchValue,
  NamedValue,
} from "../matrix/matrix.ts";
import type { CellSettings } from "./cell-settings.ts";

export interface Cell {
  /** Labels joined by `_`: `12.8.1_8.0_x86-64-v3`. A CPU-only row has no compute part, nor has a row with another accelerator (`vulkan`). */
  readonly id: string;
  /** Axis → label, in the order of the matrix. `compute` is `none` where {@link compute} is null. */
  readonly axes: Readonly<Record<string, string>>;
  readonly platform: string;
  /** null in a matrix without an axis `cuda` or `accel`. */
  readonly accel: AccelValue | null;
  /** null in a CPU-only row, and beside an accelerator that imgmatch does not judge. */
  readonly compute: ComputeValue | null;
  readonly march: MarchValue;
  readonly free: Readonly<Record<string, FreeValue>>;
  readonly settings: CellSettings;
  /** Axis → value; null for an axis without a value in this cell. */
  readonly values: CellValues;
  /** The chosen cases of the matrix's `values`. */
  readonly named: Readonly<Record<string, NamedValue>>;
  /** The reason if no case of a value is for this cell, which then cannot be built; null for most cells. */
  readonly unmatched: string | null;
  readonly requires: Requirement;
  /** The earliest day from which on a value of it is deprecated. */
  readonly deprecated?: string;
}

/** The path of a cell's Dockerfile, relative to the matrix file. */
export function dockerfilePath(cell: Pick<Cell, "id">): string {
  return `images/${cell.id}.Dockerfile`;
}

export type CellValues = Readonly<Record<string, AxisValue | null>>;
