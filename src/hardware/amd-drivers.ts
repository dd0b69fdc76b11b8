/** AMD's drivers and the ROCm releases that AMD supports on each. Nothing enforces that. */

import table from "./amd-drivers.json" with { type: "json" };
import { readRows } from "./read-rows.ts";
import type { SourceKey } from "./sources.ts";

/** The kernel's own driver has no version: there is no row for it. */
export interface AmdDriver {
  /** AMD's name: `30.10`. */
  readonly driver: string;
  /** The first three numbers of `/sys/module/amdgpu/version`. */
  readonly module: string;
  /** The oldest and the newest release of ROCm that AMD names for it; null if no source names one. */
  readonly oldest: string | null;
  readonly newest: string | null;
  readonly source: readonly SourceKey[];
  readonly note?: string;
}

/** Oldest first. */
export const amdDrivers = readRows<AmdDriver>(table.drivers);
