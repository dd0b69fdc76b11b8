/** The features whose use can be seen in code: of any other, nobody can say that a file does without it. */

import { CpuidFeature } from "iced-x86";
import type { CpuArchitecture } from "../../hardware/cpu-marches.ts";
import { arm64Rows, undecidedWithSme } from "./arm64-decoder.ts";
import { linuxFeature } from "./x86-features.ts";

/** Linux names. */
export function decidedFeatures(architecture: CpuArchitecture): ReadonlySet<string> {
  switch (architecture) {
    case "amd64":
      return x86Features;
    case "arm64":
      return armFeatures;
    // Their code is not read.
    case "ppc64le":
    case "riscv64":
      return new Set();
  }
}

const x86Features: ReadonlySet<string> = new Set([
  ...Object.keys(CpuidFeature)
    .filter((name) => !/^\d+$/.test(name))
    .map(linuxFeature)
    .filter((name) => name !== null),
  "lahf_lm",
]);

const armFeatures: ReadonlySet<string> = new Set([
  ...arm64Rows.flatMap(([, , features]) => features.split(" ").filter(Boolean)),
  ...undecidedWithSme,
]);
