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

/** A value of the axis `compute` as a matrix has it: `9.0`, or `["7.5", "12.0"]` for one image. */
export function axisList(values: readonly string[]): string {
  return values.length === 1
    ? (values[0] ?? "")
    : `[${values.map((value) => JSON.stringify(value)).join(", ")}]`;
}

/** Some GPUs have code: without the others the image runs. */
export function hideGpus(lacking: readonly unknown[], gpus: readonly unknown[]): readonly Cure[] {
  if (lacking.length === gpus.length) return [];
  return [byHand(lacking.length === 1 ? "hide this GPU" : "hide these GPUs")];
}
