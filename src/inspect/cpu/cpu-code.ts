/** Which CPU features the instructions of a file belong to, and how sure that is. */

import { compareFirst } from "../../io/collections.ts";

export interface CpuCode {
  readonly architecture: CodeArchitecture;
  /** Bytes of executable sections that were looked at. */
  readonly codeBytes: number;
  /** By Linux name, sorted; without what every CPU of the architecture has. */
  readonly features: Readonly<Record<string, FeatureUse>>;
  /** Of the functions that compute with vectors, the share that holds no SSE instruction of before AVX; null where none does. */
  readonly vexOnly: number | null;
  /** Inside functions: code for a CPU that this version does not know. */
  readonly unknownInstructions: number;
  /** Instructions that ask the CPU what it has: `cpuid`, `xgetbv`. */
  readonly asks: readonly string[];
}

export type CodeArchitecture = "x86_64" | "x86" | "aarch64";

export interface FeatureUse {
  /** Inside functions, or outside with nothing around that is no code. */
  readonly instructions: number;
  /** Among bytes that may be data, or instructions that do no harm on a CPU without the feature. */
  readonly doubtful: number;
}

/** Counts by name, sorted in the end. */
export function createFeatureTally(): {
  add(name: string, use: keyof FeatureUse, count: number): void;
  result(): CpuCode["features"];
} {
  const uses = new Map<string, { instructions: number; doubtful: number }>();
  return {
    add(name, use, count) {
      if (count === 0) return;
      const entry = uses.get(name) ?? { instructions: 0, doubtful: 0 };
      entry[use] += count;
      uses.set(name, entry);
    },
    result: () => Object.fromEntries([...uses].sort(compareFirst)),
  };
}
