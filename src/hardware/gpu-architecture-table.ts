/** GPU architectures by compute capability. */

import table from "./gpu-architectures.json" with { type: "json" };
import { readRows } from "./read-rows.ts";
import type { SourceKey } from "./sources.ts";

export interface ArchitectureRow {
  readonly compute: string;
  readonly name: string;
  readonly platform: "desktop" | "tegra";
  readonly chips: readonly string[];
  readonly firstToolkit: string;
  /** null: still a target of the newest toolkit that was read, 13.4. */
  readonly lastToolkit: string | null;
  /** Newest driver branch that drives it; null: still driven by the newest branch that was read, R615, or no branch (Tegra). */
  readonly lastDriverBranch: number | null;
  /** NVIDIA's open kernel module; null where no document says. */
  readonly openModule: "required" | "supported" | "unsupported" | null;
  /** First toolkit of each specific target: `90a` → `12.0`. */
  readonly specific: Readonly<Record<string, string>>;
  readonly source: readonly SourceKey[];
  readonly note?: string;
}

export const architectureRows = readRows<ArchitectureRow>(table.architectures);
