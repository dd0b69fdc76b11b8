/** Tells which features a file needs of a CPU, and which it may use. A feature in doubt may be used. */

import { neverNeededFeatures, x86Baseline } from "../../hardware/cpu-features.ts";
import { findMarch } from "../../hardware/cpu-marches.ts";
import { compareFirst } from "../../io/collections.ts";
import type { CpuCode } from "./cpu-code.ts";

export type FeatureNeed = "needed" | "mayBeUsed";

export interface CpuNeed {
  /** By Linux name, sorted. Other features are not used. */
  readonly features: Readonly<Record<string, FeatureNeed>>;
  /** Why features may be used and are not needed: `cpuid`, `IFUNC`, `getauxval`, or that the file is one of several. */
  readonly asks: readonly string[];
}

/**
 * A file with such a share of {@link CpuCode.vexOnly} was compiled for AVX, whatever it asks the CPU. Such files have 0.75 and more; files
 * that choose at run time have at most 0.5, and libmvec 0.72.
 */
const compiledForAvx = 0.85;

/** The loader enforces `neededLevel`, the level of the file's note. `isVariant`: see `dispatch.ts`. */
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
