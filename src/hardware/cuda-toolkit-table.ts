/** CUDA toolkits: what NVIDIA's release notes say about the driver of each. */

import table from "./cuda-toolkits.json" with { type: "json" };
import { readRows } from "./read-rows.ts";
import type { SourceKey } from "./sources.ts";

export interface ToolkitRow {
  /** Full version: `12.8.1`. */
  readonly release: string;
  readonly minor: string;
  /** `release` is what `12.8` alone means. */
  readonly stage: "preview" | "candidate" | "release" | "update";
  /** The row of the release notes, Linux x86_64; null where no document gives a number. */
  readonly minimumDriver: string | null;
  readonly minimumDriverWindows: string | null;
  /** The driver inside the runfile, which can be newer than the minimum; null where there is none or it is not known. */
  readonly bundledDriver: string | null;
  readonly branch: number;
  readonly source: readonly SourceKey[];
  /** NVIDIA's own spelling where it is not the version of the build. */
  readonly printedAs?: string;
  readonly note?: string;
}

/** Oldest first. */
export const toolkitRows = readRows<ToolkitRow>(table.toolkits);

export interface DriverFloor {
  readonly major: number;
  /** Oldest Linux driver on which every toolkit of the major runs. */
  readonly minimum: string;
  readonly minimumWindows: string | null;
  readonly source: readonly SourceKey[];
}

/** Minor-version compatibility exists from CUDA 11 on; an older toolkit needs its own minimum. */
export const driverFloors = readRows<DriverFloor>(table.floors);
