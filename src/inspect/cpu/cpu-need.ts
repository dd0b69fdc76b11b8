/** The features that a file asks of a CPU: needed, may be used, or neither. Never a guess: a feature that cannot be told apart *may be used*. */

import { neverNeededFeatures, x86Baseline } from "../../hardware/cpu-features.ts";
import { findMarch } from "../../hardware/cpu-marches.ts";
import { compareFirst } from "../../io/collections.ts";
import type { CpuCode } from "./cpu-code.ts";

export type FeatureNeed = "needed" | "mayBeUsed";

export interface CpuNeed {
  /** By Linux name, sorted. A feature that is not here is not used. */
  readonly features: Readonly<Record<string, FeatureNeed>>;
  /** Why features are not called needed: `cpuid`, `IFUNC`, `getauxval`, or that the file is one of several. */
  readonly asks: readonly string[];
}

/**
 * Of a file's functions that compute with vectors, so many without an instruction of before AVX mean that it was compiled for
 * AVX, whatever it asks the CPU: measured from 0.75 on for such files, and at most 0.5 for files that choose, but 0.72 for libmvec.
 */
const compiledForAvx = 0.85;

/** `neededLevel` is that of the file's note, which the loader enforces. `isVariant`: see `dispatch.ts`. */
export function findCpuNeed(cpu: CpuCode, isVariant: boolean, neededLevel: string | null): CpuNeed {
  const asks = isVariant ? [...cpu.asks, "one of several files"] : cpu.asks;
  const enforced = new Set(neededLevel === null ? [] : (findMarch(neededLevel)?.features ?? []));
  const needed = ([name, { instructions }]: [string, CpuCode["features"][string]]) =>
    instructions > 0 &&
    !neverNeededFeatures.has(name) &&
    (asks.length === 0 || (name === "avx" && !isVariant && (cpu.vexOnly ?? 0) >= compiledForAvx));
  const found = new Map<string, FeatureNeed>(
    Object.entries(cpu.features).map((entry) => [entry[0], needed(entry) ? "needed" : "mayBeUsed"]),
  );
  if (!isVariant) for (const name of enforced) if (!x86Baseline.has(name)) found.set(name, "needed");
  return { features: Object.fromEntries([...found].sort(compareFirst)), asks };
}
