/** Generic levels of CPUs, such as `x86-64-v3`: the level of a host, and the level that code needs. */

import { findMarch } from "./cpu-marches.ts";

/** Lowest first. */
const levelNames = {
  amd64: ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"],
  arm64: ["armv8-a", "armv8.1-a", "armv8.2-a", "armv8.5-a", "armv9-a"],
  ppc64le: ["power8", "power9", "power10"],
  riscv64: ["rv64gc", "rva20u64", "rva22u64", "rva23u64"],
} as const;

/**
 * The highest generic level that a host's features prove: `x86-64-v3`, `armv8.2-a`, `power9`; null when not even the lowest is, or
 * for an architecture without levels.
 *
 * Sources: x86-64 psABI, micro-architecture levels; the compilers' feature sets for Arm; the RVA profiles of RISC-V. Linux prints `abm` for lzcnt, and
 * `avx` only where the kernel saves its state, which is the psABI's OSXSAVE.
 *
 * @param architecture in OCI words: `amd64`, `arm64`, `ppc64le`, `riscv64`
 * @param features Linux names present on every processor
 */
export function cpuLevel(architecture: string, features: readonly string[]): string | null {
  const present = new Set(features);
  const proven = levelsOf(architecture).filter((name) =>
    findMarch(name)?.features.every((feature) => present.has(feature)),
  );
  return proven.at(-1) ?? null;
}

/**
 * The lowest generic level with all of these features: every CPU of the level runs code that needs the features. null if no level has
 * all, or for an architecture without levels.
 *
 * @example
 * levelNeeded("amd64", ["avx2", "sse2"]); // "x86-64-v3"
 */
export function levelNeeded(architecture: string, features: readonly string[]): string | null {
  return (
    levelsOf(architecture).find((name) => {
      const own = findMarch(name)?.features ?? [];
      return features.every((feature) => own.includes(feature));
    }) ?? null
  );
}

export function levelsOf(architecture: string): readonly string[] {
  return Object.hasOwn(levelNames, architecture) ? levelNames[architecture as keyof typeof levelNames] : [];
}
