/** CUDA toolkits: the driver a toolkit needs, the CUDA version a driver offers, the GPU targets a toolkit compiles for. */

import branchTable from "./cuda-branches.json" with { type: "json" };
import targetTable from "./cuda-targets.json" with { type: "json" };
import table from "./cuda-toolkits.json" with { type: "json" };
import { compareVersionTexts, minorOf, parseCudaVersion, parseDriverVersion } from "./driver-version.ts";
import { isDroppedBy } from "./gpu-architectures.ts";
import { formatGpuTarget, type GpuTarget } from "./gpu-target.ts";
import { readRows, type SourcedRow } from "./read-rows.ts";
import type { SourceKey } from "./sources.ts";

/** CUDA toolkits: what NVIDIA's release notes say about the driver of each. */
export interface CudaToolkit extends SourcedRow {
  /** Full version: `12.8.1`. */
  readonly release: string;
  readonly minor: string;
  /** `release` is what `12.8` alone means. `unlisted` is no row of the tables. */
  readonly stage: "preview" | "candidate" | "release" | "update" | "unlisted";
  /** The row of the release notes, Linux x86_64; null where no document gives a number. */
  readonly minimumDriver: string | null;
  readonly minimumDriverWindows: string | null;
  /** The driver inside the runfile, which can be newer than the minimum; null where there is none or it is not known. */
  readonly bundledDriver: string | null;
  /** null where the toolkit is unlisted. */
  readonly branch: number | null;
  /** NVIDIA's own spelling where it is not the version of the build. */
  readonly printedAs?: string;
}

/** All toolkits from 7.0 on, oldest first. */
export const cudaToolkits = readRows<CudaToolkit>(table.toolkits);

interface DriverFloor extends SourcedRow {
  readonly major: number;
  /** Oldest Linux driver on which every toolkit of the major runs. */
  readonly minimum: string;
  readonly minimumWindows: string | null;
}

/** Minor-version compatibility exists from CUDA 11 on; an older toolkit needs its own minimum. */
export const driverFloors = readRows<DriverFloor>(table.floors);

/**
 * Finds a toolkit by its full version, or by its minor: `12.8` means its first general release. Each quarter brings a minor, so a version
 * that the tables do not have is a toolkit too, if the floor of its major is known. null for any other.
 *
 * @example
 * findToolkit("12.8.1")?.minimumDriver; // "570.124.06"
 */
export function findToolkit(version: string): CudaToolkit | null {
  return (
    cudaToolkits.find((row) => row.release === version || row.printedAs === version) ??
    cudaToolkits.find((row) => row.minor === version && row.stage === "release") ??
    (floorOfMajor(version) === null ? null : unlistedToolkit(version))
  );
}

/** A toolkit that the tables do not have; null for other text than `14.0` and `14.0.1`. */
export function unlistedToolkit(version: string): CudaToolkit | null {
  if (!/^[1-9]\d?(\.(0|[1-9]\d{0,2})){1,2}$/.test(version)) return null;
  return {
    ...{ release: version, minor: minorOf(version), stage: "unlisted" },
    ...{ minimumDriver: null, minimumDriverWindows: null, bundledDriver: null, branch: null, source: [] },
  };
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
  const floor = floorOfMajor(toolkit.minor);
  if (floor !== null) return { minimum: floor.minimum, source: floor.source };
  return toolkit.minimumDriver === null ? null : { minimum: toolkit.minimumDriver, source: toolkit.source };
}

function floorOfMajor(version: string): DriverFloor | null {
  return driverFloors.find(({ major }) => major === Number.parseInt(version, 10)) ?? null;
}

interface DriverBranch extends SourcedRow {
  readonly branch: number;
  /** null where drivers of the branch offer different versions. */
  readonly cuda: string | null;
  /** nvidia-smi prints a CUDA version from R410 on. */
  readonly printed: boolean;
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

/** What a driver of a branch that no table has offers at least: the CUDA version of the newest listed branch below. null for a listed branch. */
export function cudaFloor(driver: string): string | null {
  const branch = parseDriverVersion(driver)?.parts[0] ?? 0;
  const below = driverBranches.findLast((row) => row.branch <= branch);
  return below === undefined || below.branch === branch ? null : below.cuda;
}

/** The oldest listed branch whose drivers offer a CUDA version: a driver of a newer branch offers no less. */
export function firstBranchOffering(cuda: string): string | null {
  const row = driverBranches.find(
    (each) => each.cuda !== null && compareVersionTexts(each.cuda, minorOf(cuda)) >= 0,
  );
  return row === undefined ? null : String(row.branch);
}

/**
 * The CUDA version under a Linux driver where another source reports one: never more than the driver's branch offers. What reports more is the
 * libcuda of a forward-compatibility package.
 *
 * @example
 * cudaUnder("470.129.06", "11.7"); // "11.4"
 */
export function cudaUnder(driver: string | null, reported: string): string {
  const branch = driver === null ? null : cudaOfDriver(driver);
  return branch !== null && compareVersionTexts(reported, branch) > 0 ? branch : reported;
}

export interface SupportedTargets extends SourcedRow {
  /** Targets as numbers, ascending: 103 is `sm_103`. */
  readonly sm: readonly number[];
  /** Specific and family targets: `90a`, `120f`. */
  readonly specific: readonly string[];
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

/**
 * True if nvcc of the toolkit compiles for the target; null if that is not known. A minor outside the tables compiles for the targets of the
 * minor before, and never for a target that the major has dropped.
 */
export function toolkitCompiles({ minor }: Pick<CudaToolkit, "minor">, target: GpuTarget): boolean | null {
  // sm_21 is compiled from compute_20: nvcc never had a compute_21.
  if (target.kind === "ptx" && formatGpuTarget(target) === "compute_21") return false;
  const targets = supportedTargets(minor);
  if (targets !== null) return hasTarget(targets, target);
  const before = toolkitTargets.findLast(
    (row) =>
      Number.parseInt(row.minor, 10) === Number.parseInt(minor, 10) &&
      compareVersionTexts(row.minor, minor) < 0,
  );
  if (before !== undefined && hasTarget(before, target)) return true;
  return isDroppedBy(minor, target.compute) ? false : null;
}

function hasTarget({ sm, specific }: SupportedTargets, { compute, suffix }: GpuTarget): boolean {
  const number = compute.major * 10 + compute.minor;
  return suffix === "" ? sm.includes(number) : specific.includes(`${number}${suffix}`);
}
