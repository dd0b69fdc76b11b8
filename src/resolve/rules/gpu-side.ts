/** The GPUs that an image is for, and the GPUs whose state may make the image the wrong answer. */

import { type Requirement, vendorsOf } from "../../lock/requirement.ts";
import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import { type FitOptions, wantsCpu } from "../resolve-options.ts";

/** `unjudged`: an accelerator without rules, which only a user's word chooses. */
export type GpuSide = GpuVendor | "cpu" | "unjudged";

export function sideOf(requires: Requirement): GpuSide {
  const [vendor] = vendorsOf(requires);
  return vendor ?? (requires.accelerator == null ? "cpu" : "unjudged");
}

/** In another state of this vendor's GPUs the answer could be another one: this image would run, or a better one would. */
export function isConcerned(side: GpuSide, vendor: GpuVendor, options: FitOptions): boolean {
  if (side === "unjudged" || side === vendor) return side === vendor;
  const isBetter =
    side === "cpu" ? !wantsCpu(options) : gpuVendors.indexOf(vendor) < gpuVendors.indexOf(side);
  return isBetter && options.gpuImages?.includes(vendor) === true;
}
