/** Parses GPU targets in nvcc's notation, and decides on which devices the code of a target runs. */

import { compareText } from "../io/collections.ts";
import {
  type ComputeCapability,
  compareComputeCapability,
  formatComputeCapability,
  parseComputeCapability,
} from "./compute-capability.ts";

export interface GpuTarget {
  /** `sass` is machine code (`sm_90`), `ptx` is assembled by the driver (`compute_90`). */
  readonly kind: "sass" | "ptx";
  readonly compute: ComputeCapability;
  /** `a`: features of exactly this device. `f`: features of its family. */
  readonly suffix: "" | "a" | "f";
}

/**
 * Reads `sm_90a`, `compute_120f` or `sm_86`; null for anything else. The last digit is the minor: `sm_103` is 10.3. A name that is read here
 * may be unknown to a toolkit: see `toolkitCompiles`.
 */
export function parseGpuTarget(text: string): GpuTarget | null {
  const match = /^(sm|compute)_([1-9]\d?)(\d)([af]?)$/.exec(text);
  if (match === null) return null;
  const [, prefix, major, minor, suffix] = match;
  return {
    kind: prefix === "sm" ? "sass" : "ptx",
    compute: { major: Number(major), minor: Number(minor) },
    suffix: suffix as GpuTarget["suffix"],
  };
}

/**
 * Targets as people write them: `8.0`, `9.0a`, `10.0f`, `9.0+ptx` (PyTorch: `9.0+PTX`), and as nvcc does `sm_90a` and `compute_90`; null for
 * anything else.
 */
export function readTargets(text: string): readonly GpuTarget[] | null {
  const single = parseGpuTarget(text);
  if (single !== null) return [single];
  const [, number, suffix = "", ptx] = /^(\d+\.\d)([af]?)(\+ptx)?$/i.exec(text) ?? [];
  const compute = parseComputeCapability(number ?? "");
  if (compute === null) return null;
  const sass: GpuTarget = { kind: "sass", compute, suffix: suffix.toLowerCase() as GpuTarget["suffix"] };
  return ptx === undefined ? [sass] : [sass, { ...sass, kind: "ptx" }];
}

export function formatGpuTarget({ kind, compute, suffix }: GpuTarget): string {
  return `${kind === "sass" ? "sm" : "compute"}_${compute.major}${compute.minor}${suffix}`;
}

/**
 * The virtual architecture that code for `target` is compiled from: `compute_90a` for `sm_90a`.
 * nvcc has no `compute_21`: `sm_21` is compiled from `compute_20` (nvcc manual up to CUDA 8.0).
 */
export function virtualTarget({ compute, suffix }: GpuTarget): GpuTarget {
  const minor = compute.major === 2 ? 0 : compute.minor;
  return { kind: "ptx", compute: { major: compute.major, minor }, suffix };
}

/**
 * True if code of `target` runs on a device. PTX also needs a driver that understands it: one whose CUDA version is at least
 * the toolkit's.
 *
 * Sources: CUDA C++ Programming Guide, "Binary Compatibility", "PTX Compatibility" and the table of family-specific targets.
 */
export function targetRunsOn(target: GpuTarget, device: ComputeCapability): boolean {
  const distance = compareComputeCapability(device, target.compute);
  if (target.suffix === "a") return distance === 0;
  if (target.suffix === "f") return familyRunsOn(target.compute, device);
  if (target.kind === "ptx") return distance >= 0;
  return sassRunsOn(target.compute, device);
}

/** True for the compute capability of a Tegra (Jetson, Drive) chip, which shares SASS with no other. */
export function isTegra(compute: ComputeCapability): boolean {
  return tegra.has(formatComputeCapability(compute));
}

function sassRunsOn(built: ComputeCapability, device: ComputeCapability): boolean {
  if (built.major !== device.major) return false;
  // "Binary compatibility is supported only for the desktop. It is not supported for Tegra. Also, the binary
  // compatibility between desktop and Tegra is not supported." nvlink 13.0 agrees: sm_80 links for 86 and 89, not 87 and 88.
  if (isTegra(built) || isTegra(device)) return built.minor === device.minor;
  return device.minor >= built.minor;
}

function familyRunsOn(built: ComputeCapability, device: ComputeCapability): boolean {
  const members = families[formatComputeCapability(built)] ?? [];
  return members.includes(formatComputeCapability(device));
}

/**
 * Compute capabilities of Tegra chips. 10.1 is Thor as CUDA 12.8 and 12.9 name it, 11.0 the same chip from 13.0 on: a binary
 * for one is not known to run where the driver reports the other. 8.8 is presumed from nvlink, no product was found.
 */
const tegra: ReadonlySet<string> = new Set(["3.2", "5.3", "6.2", "7.2", "8.7", "8.8", "10.1", "11.0"]);

/** Family target → devices, by NVIDIA's table: it is not arithmetic, and families never cross a major. */
const families: Readonly<Record<string, readonly string[]>> = {
  // Programming Guide, table of family-specific targets; nvlink and ptxas 13.0 agree for all they know.
  "10.0": ["10.0", "10.3", "10.7"],
  "10.3": ["10.3", "10.7"],
  // Not in the table that was read: derived from the family of 10.x, which only grows upwards.
  "10.7": ["10.7"],
  // 101f exists in CUDA 12.9 only; Thor is alone in its family, as 11.0 after its renaming.
  "10.1": ["10.1"],
  "11.0": ["11.0"],
  "12.0": ["12.0", "12.1"],
  "12.1": ["12.1"],
};

export function isPtx(target: string): boolean {
  return target.startsWith("compute_");
}

/** Machine code first, by number, then by suffix. */
export function compareTargets(a: string, b: string): number {
  const numberOf = (target: string) => Number.parseInt(target.replace(/^\w+_/, ""), 10);
  return Number(isPtx(a)) - Number(isPtx(b)) || numberOf(a) - numberOf(b) || compareText(a, b);
}
