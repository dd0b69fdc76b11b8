/** What a file asks of a CPU: needed, may be used, or neither. Never a guess: what cannot be told apart is told as *may be used*. */

import { neverNeededFeatures, x86Baseline } from "../../hardware/cpu-features.ts";
import { findMarch } from "../../hardware/cpu-marches.ts";
import type { CpuCode } from "./cpu-code.ts";

export type FeatureAnswer = "needed" | "mayBeUsed";

export interface CpuAnswer {
  /** By Linux name, sorted. A feature that is not here is not used. */
  readonly features: Readonly<Record<string, FeatureAnswer>>;
  /** Why features are not called needed: `cpuid`, `IFUNC`, `getauxval`, or that the file is one of several. */
  readonly asks: readonly string[];
}

/**
 * Of a file's functions that compute with vectors, so many without an instruction of before AVX mean that it was compiled for
 * AVX, whatever it asks the CPU: measured from 0.75 on for such files, and at most 0.5 for files that choose, but 0.72 for libmvec.
 */
const compiledForAvx = 0.85;

/** Folders and names by which the loader or a program chooses one of several files for the CPU: glibc, MKL, ggml. */
const variantFolder = /(^|\/)glibc-hwcaps\//;
const variantName =
  /(^|[-_.])(avx\w*|sse\d?\w*|fma\d?|haswell|sandybridge|ivybridge|skylake\w*|icelake\w*|alderlake|cascadelake|cooperlake|sapphirerapids|zn?ver\d|zen\d|sve\d?|sme\d?|armv[89][\w.]*|x86-64-v[234])([-_.]|$)/i;

/** Whether the file at a path is one of several for different CPUs. */
export function isVariant(path: string): boolean {
  return variantFolder.test(path) || variantName.test(path.slice(path.lastIndexOf("/") + 1));
}

/** `neededLevel` is that of the file's note, which the loader enforces. */
export function judgeCpu(cpu: CpuCode, path: string, neededLevel: string | null): CpuAnswer {
  const asks = isVariant(path) ? [...cpu.asks, "one of several files"] : cpu.asks;
  const enforced = new Set(neededLevel === null ? [] : (findMarch(neededLevel)?.features ?? []));
  const needed = ([name, { instructions }]: [string, CpuCode["features"][string]]) =>
    instructions > 0 &&
    !neverNeededFeatures.has(name) &&
    (asks.length === 0 || (name === "avx" && !isVariant(path) && (cpu.vexOnly ?? 0) >= compiledForAvx));
  const found = new Map<string, FeatureAnswer>(
    Object.entries(cpu.features).map((entry) => [entry[0], needed(entry) ? "needed" : "mayBeUsed"]),
  );
  if (!isVariant(path)) for (const name of enforced) if (!x86Baseline.has(name)) found.set(name, "needed");
  return { features: Object.fromEntries([...found].sort(([a], [b]) => (a < b ? -1 : 1))), asks };
}
