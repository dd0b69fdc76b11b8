/** AMD's drivers and the ROCm releases that AMD supports on each. Nothing enforces that. */

import table from "./amd-drivers.json" with { type: "json" };
import { readRows, type SourcedRow } from "./read-rows.ts";

/** The kernel's own driver has no version: there is no row for it. */
export interface AmdDriver extends SourcedRow {
  /** AMD's name: `30.10`. */
  readonly driver: string;
  /** The first three numbers of `/sys/module/amdgpu/version`. */
  readonly module: string;
  /** The oldest and the newest release of ROCm that AMD names for it; null if no source names one. */
  readonly oldest: string | null;
  readonly newest: string | null;
}

/** Oldest first. */
export const amdDrivers = readRows<AmdDriver>(table.drivers);
