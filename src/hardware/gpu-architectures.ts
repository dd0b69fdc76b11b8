/** GPU architectures: which toolkits compile for one, and which drivers still drive it. */

import { type ComputeCapability, computeCapability, formatComputeCapability } from "./compute-capability.ts";
import { type ArchitectureRow, architectureRows } from "./gpu-architecture-table.ts";

export interface GpuArchitecture extends Omit<ArchitectureRow, "compute"> {
  readonly compute: ComputeCapability;
}

/** All architectures from 2.0 on, ascending. */
export const gpuArchitectures: readonly GpuArchitecture[] = architectureRows.map((row) => ({
  ...row,
  compute: computeCapability(row.compute as `${number}.${number}`),
}));

/** null for a compute capability that no table knows: nothing can then be said about toolkits and drivers. */
export function findArchitecture(compute: ComputeCapability): GpuArchitecture | null {
  const text = formatComputeCapability(compute);
  const index = architectureRows.findIndex((row) => row.compute === text);
  return gpuArchitectures[index] ?? null;
}

/**
 * Whether a driver branch still drives GPUs of the architecture; null when that is unknown, and for Tegra, whose kernel
 * driver comes with the system and not from a branch. Only the newest branch is known, not the first.
 */
export function branchDrives(architecture: GpuArchitecture, branch: number): boolean | null {
  if (architecture.platform === "tegra") return null;
  return architecture.lastDriverBranch === null || branch <= architecture.lastDriverBranch;
}
