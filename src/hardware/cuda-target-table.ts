/** The GPU targets that nvcc of each toolkit compiles for. */

import type { SourceKey } from "./sources.ts";

export interface TargetRow {
  readonly minor: string;
  /** Targets as numbers: 103 is `sm_103`. */
  readonly sm: readonly number[];
  /** Architecture- and family-specific targets: `90a`, `120f`. */
  readonly specific: readonly string[];
  readonly source: readonly SourceKey[];
  readonly note?: string;
}

/** What these minors compile for, oldest first. */
// biome-ignore format: one row per line
const targets: readonly (Omit<TargetRow, "minor"> & { readonly minors: string })[] = [
  { minors: "7.0 7.5", sm: [20, 21, 30, 32, 35, 37, 50, 52, 53], specific: [], source: ["CMAKESEL", "SPACKBS", "LLVM"] },
  { minors: "8.0", sm: [20, 21, 30, 32, 35, 37, 50, 52, 53, 60, 61, 62], specific: [], source: ["CMAKESEL", "SPACKBS", "LLVM"] },
  { minors: "9.0", sm: [30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70], specific: [], source: ["CMAKESEL", "SPACKBS", "LLVM"] },
  { minors: "9.1 9.2", sm: [30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72], specific: [], source: ["CMAKESEL", "SPACKBS", "LLVM"] },
  { minors: "10.0 10.1 10.2", sm: [30, 32, 35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75], specific: [], source: ["CMAKESEL", "SPACKBS", "LLVM"] },
  { minors: "11.0", sm: [35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80], specific: [], source: ["CMAKESEL", "SPACKBS", "LLVM"] },
  { minors: "11.1 11.2 11.3", sm: [35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86], specific: [], source: ["CMAKESEL", "SPACKBS", "LLVM"] },
  { minors: "11.4 11.5 11.6 11.7", sm: [35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87], specific: [], source: ["CMAKESEL", "SPACKBS", "LLVM"] },
  { minors: "11.8", sm: [35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90], specific: [], source: ["CMAKESEL", "SPACKBS", "LLVM"] },
  { minors: "12.0 12.1 12.2 12.3 12.4", sm: [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90], specific: ["90a"], source: ["CMAKESEL", "SPACKBS", "LLVM"] },
  { minors: "12.5 12.6", sm: [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90], specific: ["90a"], source: ["CMAKE", "SPACKBS"] },
  { minors: "12.8", sm: [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 120], specific: ["90a", "100a", "101a", "120a"], source: ["CMAKE", "SPACKBS"] },
  { minors: "12.9", sm: [50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121], specific: ["90a", "100a", "100f", "101a", "101f", "103a", "103f", "120a", "120f", "121a", "121f"], source: ["CMAKE", "SPACKBS"] },
  { minors: "13.0", sm: [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121], specific: ["90a", "100a", "100f", "103a", "103f", "110a", "110f", "120a", "120f", "121a", "121f"], source: ["NVCC130", "CMAKE", "SPACKBS"] },
  { minors: "13.1 13.2 13.3", sm: [75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121], specific: ["90a", "100a", "100f", "103a", "103f", "110a", "110f", "120a", "120f", "121a", "121f"], source: ["NVCC130", "RN134"], note: "the list of 13.0: no release note up to 13.4 adds or drops a target in this version" },
  { minors: "13.4", sm: [75, 80, 86, 87, 88, 89, 90, 100, 103, 107, 110, 120, 121], specific: ["90a", "100a", "100f", "103a", "103f", "107a", "107f", "110a", "110f", "120a", "120f", "121a", "121f"], source: ["NVCCDOC", "RN134"], note: "the list of 13.0 and Rubin, which the release notes add" },
];

/** A row for each minor. */
export const targetRows: readonly TargetRow[] = targets.flatMap(({ minors, ...row }) =>
  minors.split(" ").map((minor) => ({ minor, ...row })),
);
