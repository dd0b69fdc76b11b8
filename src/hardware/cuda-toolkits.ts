/** CUDA toolkits: the driver that each needs, the CUDA version that a driver offers, the GPU targets that each compiles for. */

import branchTable from "./cuda-branches.json" with { type: "json" };
import targetTable from "./cuda-targets.json" with { type: "json" };
import table from "./cuda-toolkits.json" with { type: "json" };
import { parseCudaVersion, parseDriverVersion } from "./driver-version.ts";
import { formatGpuTarget, type GpuTarget } from "./gpu-target.ts";
import { readRows } from "./read-rows.ts";
import type { SourceKey } from "./sources.ts";

/** CUDA toolkits: what NVIDIA's release notes say about the driver of each. */
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

export type CudaToolkit = ToolkitRow;

/** All toolkits from 7.0 on, oldest first. */
export const cudaToolkits = readRows<CudaToolkit>(table.toolkits);

interface DriverFloor {
  readonly major: number;
  /** Oldest Linux driver on which every toolkit of the major runs. */
  readonly minimum: string;
  readonly minimumWindows: string | null;
  readonly source: readonly SourceKey[];
}

/** Minor-version compatibility exists from CUDA 11 on; an older toolkit needs its own minimum. */
export const driverFloors = readRows<DriverFloor>(table.floors);

/**
 * Finds a toolkit by its full version, or by its minor: `12.8` means its first general release. null when the tables do
 * not have it.
 *
 * @example
 * findToolkit("12.8.1")?.minimumDriver; // "570.124.06"
 */
export function findToolkit(version: string): CudaToolkit | null {
  return (
    cudaToolkits.find((row) => row.release === version || row.printedAs === version) ??
    cudaToolkits.find((row) => row.minor === version && row.stage === "release") ??
    null
  );
}

/** The newest known release of the minor that PyTorch's wheels call `cu128`; null for other text. */
export function findShortToolkit(short: string): CudaToolkit | null {
  const released = cudaToolkits.filter(({ stage }) => stage === "release" || stage === "update");
  return released.findLast((row) => shortToolkit(row) === short) ?? null;
}

/** The name in PyTorch's wheels: `cu128`. */
export function shortToolkit({ minor }: Pick<CudaToolkit, "minor">): string {
  return `cu${minor.replace(".", "")}`;
}

/**
 * The oldest Linux kernel driver on which an image of this toolkit runs with the host's driver.
 *
 * It is the floor of the major from CUDA 11 on (minor-version compatibility), and the toolkit's own minimum before.
 * The floor covers SASS only: PTX needs a driver whose CUDA version is at least the toolkit's.
 * Sources: CUDA Compatibility, minor-version compatibility; CUDA release notes.
 */
export function driverFloor(
  toolkit: CudaToolkit,
): { readonly minimum: string; readonly source: readonly SourceKey[] } | null {
  const major = Number.parseInt(toolkit.minor, 10);
  const floor = driverFloors.find((row) => row.major === major);
  if (floor !== undefined) return { minimum: floor.minimum, source: floor.source };
  return toolkit.minimumDriver === null ? null : { minimum: toolkit.minimumDriver, source: toolkit.source };
}

interface DriverBranch {
  readonly branch: number;
  /** null where drivers of the branch offer different versions. */
  readonly cuda: string | null;
  /** nvidia-smi prints a CUDA version from R410 on. */
  readonly printed: boolean;
  readonly source: readonly SourceKey[];
  readonly note?: string;
}

/** The CUDA version of each driver branch, for hosts that cannot be asked. */
export const driverBranches = readRows<DriverBranch>(branchTable.branches);

/**
 * The highest CUDA version that a Linux driver offers, by its branch: `570.124.06` → `12.8`. null for an unknown branch, and
 * for one whose drivers differ (R430, R435). Windows drivers, as WSL reports them, have other branches: ask the driver itself
 * if possible.
 */
export function cudaOfDriver(driver: string): string | null {
  const branch = parseDriverVersion(driver)?.parts[0];
  return driverBranches.find((row) => row.branch === branch)?.cuda ?? null;
}

export interface SupportedTargets {
  /** Targets as numbers, ascending: 103 is `sm_103`. */
  readonly sm: readonly number[];
  /** Specific and family targets: `90a`, `120f`. */
  readonly specific: readonly string[];
  readonly source: readonly SourceKey[];
}

/** A row for each minor, oldest first. */
export const toolkitTargets = readRows<SupportedTargets & { readonly minors: string }>(
  targetTable.targets,
).flatMap(({ minors, ...row }) => minors.split(" ").map((minor) => ({ minor, ...row })));

/** The targets that nvcc of a toolkit (`12.8` or `12.8.1`) compiles for; null when the toolkit is unknown. */
export function supportedTargets(version: string): SupportedTargets | null {
  const parts = parseCudaVersion(version)?.parts;
  const minor = parts === undefined ? null : `${parts[0]}.${parts[1]}`;
  return toolkitTargets.find((row) => row.minor === minor) ?? null;
}

/** True if nvcc of the toolkit compiles for the target; null if the toolkit's targets are unknown. */
export function toolkitCompiles(toolkit: CudaToolkit, target: GpuTarget): boolean | null {
  const targets = supportedTargets(toolkit.minor);
  if (targets === null) return null;
  // sm_21 is compiled from compute_20: nvcc never had a compute_21.
  if (target.kind === "ptx" && formatGpuTarget(target) === "compute_21") return false;
  const number = target.compute.major * 10 + target.compute.minor;
  return target.suffix === ""
    ? targets.sm.includes(number)
    : targets.specific.includes(`${number}${target.suffix}`);
}
