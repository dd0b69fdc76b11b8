/** For which GPUs an image is, and whose state may make it the wrong one. */

import { type GpuVendor, gpuVendors, type Requirement, vendorsOf } from "../../hardware/requirement.ts";

/** `unjudged`: an accelerator that nobody judges, which only a user's word chooses. */
export type GpuSide = GpuVendor | "cpu" | "unjudged";

export function sideOf(requires: Requirement): GpuSide {
  const [vendor] = vendorsOf(requires);
  return vendor ?? (requires.accelerator == null ? "cpu" : "unjudged");
}

export interface Wanted {
  /** The user asks for an image without GPU code. */
  readonly cpu: boolean;
  /** The vendors for whose GPUs the fleet has images that could be the answer on some host. */
  readonly gpuImages: readonly GpuVendor[];
}

/** Whether the answer about an image would be another one if this vendor's GPUs were in another state: a better image may be there for them. */
export function isConcerned(side: GpuSide, vendor: GpuVendor, { cpu, gpuImages }: Wanted): boolean {
  if (side === "unjudged" || side === vendor) return side === vendor;
  const isBetter = side === "cpu" ? !cpu : gpuVendors.indexOf(vendor) < gpuVendors.indexOf(side);
  return isBetter && gpuImages.includes(vendor);
}
