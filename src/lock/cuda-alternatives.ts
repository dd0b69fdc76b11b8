/** Lists an image's alternatives for NVIDIA. */

import type { CudaRequirement, GpuSides } from "./requirement.ts";

/** Best first; empty for an image without GPU code for NVIDIA. */
export function cudaAlternatives({ cuda }: GpuSides): readonly Omit<CudaRequirement, "or">[] {
  return cuda === null ? [] : [cuda, ...(cuda.or ?? [])];
}
