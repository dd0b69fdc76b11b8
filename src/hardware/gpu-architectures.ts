/** GPU architectures: the toolkits that compile for an architecture, and its drivers. */

import { compareComputeCapability, type ComputeCapability, computeCapability } from "./compute-capability.ts";
import table from "./gpu-architectures.json" with { type: "json" };
import { readRows, type SourcedRow } from "./read-rows.ts";

interface ArchitectureRow extends SourcedRow {
  readonly compute: string;
  readonly name: string;
  readonly platform: "desktop" | "tegra";
  readonly chips: readonly string[];
  readonly firstToolkit: string;
  /** null: still a target of the newest toolkit that was read, 13.5. */
  readonly lastToolkit: string | null;
  /** Oldest driver branch that drives it; null if no source tells. */
  readonly firstDriverBranch: number | null;
  /** Newest driver branch that drives it; null: still driven by the newest branch that was read, R615, or no branch (Tegra). */
  readonly lastDriverBranch: number | null;
  /** NVIDIA's open kernel module; null if no document tells. */
  readonly openModule: "required" | "supported" | "unsupported" | null;
  /** First toolkit of each specific target: `90a` → `12.0`. */
  readonly specific: Readonly<Record<string, string>>;
}

export interface GpuArchitecture extends Omit<ArchitectureRow, "compute"> {
  readonly compute: ComputeCapability;
}

/** All architectures from 2.0 on, ascending. */
export const gpuArchitectures: readonly GpuArchitecture[] = readRows<ArchitectureRow>(
  table.architectures,
).map((row) => ({
  ...row,
  compute: computeCapability(row.compute as `${number}.${number}`),
}));

/** null for a compute capability that is not in the table. */
export function findArchitecture(compute: ComputeCapability): GpuArchitecture | null {
  return gpuArchitectures.find((row) => compareComputeCapability(row.compute, compute) === 0) ?? null;
}

/** True if the toolkit's major has dropped the card: its libraries have no code for the card, whatever their files hold (CUDA release notes). */
export function isDroppedBy(toolkit: string, compute: ComputeCapability): boolean {
  const last = findArchitecture(compute)?.lastToolkit ?? null;
  return last !== null && Number.parseInt(last, 10) < Number.parseInt(toolkit, 10);
}

/**
 * True if a driver branch drives GPUs of the architecture; null if that is unknown, and for Tegra, whose kernel driver comes
 * with the system and not from a branch.
 */
export function branchDrives(architecture: GpuArchitecture, branch: number): boolean | null {
  if (architecture.platform === "tegra") return null;
  const { firstDriverBranch: first, lastDriverBranch: last } = architecture;
  return (first === null || branch >= first) && (last === null || branch <= last);
}
