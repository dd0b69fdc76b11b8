/** NVIDIA's forward-compatibility packages (`cuda-compat-X-Y`), with the kernel drivers and GPUs on which each works. */

import { cudaOfDriver } from "./cuda-toolkits.ts";
import { parseCudaVersion } from "./driver-version.ts";
import table from "./forward-compat.json" with { type: "json" };
import type { GpuClass } from "./gpu-class.ts";
import { readRows, type SourcedRow } from "./read-rows.ts";

export interface CompatPackage extends CompatRow {
  /** The branches that decide: see {@link findCompatPackage}. */
  readonly branches: readonly string[];
}

/** All packages, oldest first. */
export function compatPackages(): readonly CompatPackage[] {
  return compatRows.map(packageOf);
}

function packageOf(row: CompatRow): CompatPackage {
  // The images of 10.1 and 10.2 also name the package's own branch, which needs no package.
  const branches = row.supported ?? row.images.filter((branch) => cudaOfDriver(branch) !== row.cuda);
  return { ...row, branches };
}

/**
 * The package of a CUDA version (`12.8` or `12.8.1`), null when there is none.
 *
 * Three views of its base branches exist and disagree. `branches` is NVIDIA's published matrix where it has a row: it is
 * what NVIDIA supports, without new-feature branches and without branches that are end of life. Before CUDA 12.2 there is no
 * row, and the clauses of NVIDIA's own images are used. `enforced` is what the container toolkit's hook obeys.
 * Source: CUDA Compatibility, forward compatibility.
 */
export function findCompatPackage(version: string): CompatPackage | null {
  const parts = parseCudaVersion(version)?.parts;
  if (parts === undefined) return null;
  const row = compatRows.find(({ cuda }) => cuda === `${parts[0]}.${parts[1]}`);
  return row === undefined ? null : packageOf(row);
}

/**
 * True if forward compatibility works on a class of GPU. On GeForce libcuda fails with error 804. null for Tegra, which has other packages,
 * and for an unknown GPU.
 */
export function compatAllowsClass(gpuClass: GpuClass): boolean | null {
  return compatClasses[gpuClass];
}

const compatClasses = {
  datacenter: true,
  // The guide names "select NGC Server Ready SKUs of RTX cards"; the note inside libcuda lists all Quadro and RTX brands.
  workstation: true,
  geforce: false,
  tegra: null,
  unknown: null,
} as const satisfies Record<GpuClass, boolean | null>;

interface CompatRow extends SourcedRow {
  readonly package: string;
  readonly cuda: string;
  /** A version of the libcuda inside, as seen in a released package: updates of the package carry newer ones. */
  readonly libcuda: string | null;
  /** Base branches that NVIDIA's matrix supports; null if the matrix has no row. */
  readonly supported: readonly string[] | null;
  /** Branches in the note inside libcuda, which the container toolkit's hook obeys; null if no library was read. */
  readonly enforced: readonly string[] | null;
  /** Branches in NVIDIA_REQUIRE_CUDA of NVIDIA's images of this version, all distributions together. */
  readonly images: readonly string[];
}

const compatRows = readRows<CompatRow>(table.packages);
