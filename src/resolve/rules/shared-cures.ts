/** Cures that several rules offer. */

import { byHand } from "../misfit.ts";
import type { Cure } from "../verdict.ts";

/** A cell without GPU code, in a fleet whose axis of accelerators is this. */
export function cpuCell(axis: "cuda" | "accel"): Cure {
  return {
    text: `add a cell with ${axis}=none`,
    remedy: { kind: "cell", axes: { [axis]: "none" } },
    adopted: "adopt an image without GPU code",
  };
}

/** Some GPUs have code: without the others the image runs. */
export function hideGpus(lacking: readonly unknown[], gpus: readonly unknown[]): readonly Cure[] {
  if (lacking.length === gpus.length) return [];
  return [byHand(lacking.length === 1 ? "hide this GPU" : "hide these GPUs")];
}
