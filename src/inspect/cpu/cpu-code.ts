/** The CPU features of a file's instructions, and how sure they are. */

import { compareFirst } from "../../io/collections.ts";
import type { CodeEvidence } from "./code-evidence.ts";
import type { StartCode } from "./start-code.ts";

export interface CpuCode {
  readonly architecture: CodeArchitecture;
  /** Bytes of code that were decoded. */
  readonly codeBytes: number;
  /** By Linux name, sorted. Features of every CPU of the architecture are left out. */
  readonly features: Readonly<Record<string, FeatureUse>>;
  /** null without functions that tell anything, for Arm, and for Go, whose compiler mixes encodings. */
  readonly evidence: CodeEvidence | null;
  /** null for Arm, and for code without features. */
  readonly start: StartCode | null;
  /** Unknown instructions inside functions: code for a newer CPU. */
  readonly unknownInstructions: number;
  /** Instructions and symbols that ask for the CPU's features: `cpuid`, `getauxval`. */
  readonly asks: readonly string[];
  /** Exported functions whose code asks for the CPU's features: other files ask through them. Sorted. */
  readonly answersBy: readonly string[];
  /** Imported functions of a file with features that does not ask by itself. Sorted. */
  readonly calls: readonly string[];
}

export const withoutLinks = { start: null, answersBy: [], calls: [] } as const satisfies Pick<
  CpuCode,
  "start" | "answersBy" | "calls"
>;

export type CodeArchitecture = "x86_64" | "x86" | "aarch64";

export interface FeatureUse {
  /** Instructions in functions, and between functions if all bytes around are code. */
  readonly instructions: number;
  /** Instructions in bytes that may be data, or that do no harm on a CPU without the feature. */
  readonly doubtful: number;
}

export function createFeatureTally() {
  const uses = new Map<string, { instructions: number; doubtful: number }>();
  return {
    add(name: string, use: keyof FeatureUse, count: number) {
      if (count === 0) return;
      const entry = uses.get(name) ?? { instructions: 0, doubtful: 0 };
      entry[use] += count;
      uses.set(name, entry);
    },
    result: (): CpuCode["features"] => Object.fromEntries([...uses].sort(compareFirst)),
  };
}
