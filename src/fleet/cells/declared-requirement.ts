/** What a cell's image will need from a host, from the hardware tables alone. */

import { marchFeatures } from "../../hardware/cpu-marches.ts";
import { formatGpuTarget } from "../../hardware/gpu-target.ts";
import type { CpuRequirement, CudaRequirement, Requirement } from "../../lock/lock.ts";
import type { ComputeValue, CudaValue, MarchValue } from "../matrix/matrix.ts";
import { oncePerHardware } from "./once-per.ts";

/** The same values give the same object: a large fleet holds few of them. */
export const requirementOf = oncePerHardware(
  (march, cuda, compute): Requirement => ({
    cpu: cpuRequirement(march, cuda),
    cuda: cudaRequirement(cuda, compute),
  }),
);

/** Features of the march less its `without`, plus what the base image's own binaries need. */
function cpuRequirement({ march, without }: MarchValue, cuda: CudaValue | null): CpuRequirement {
  const features = new Set(marchFeatures(march, without));
  const floor = cuda?.cpuFloor ?? null;
  // A multi-platform base has a floor per architecture; this one speaks of its own only.
  if (floor !== null && floor.architecture === march.architecture) {
    for (const feature of floor.features) features.add(feature);
  }
  return { march: march.name, features: [...features].sort() };
}

function cudaRequirement(cuda: CudaValue | null, compute: ComputeValue | null): CudaRequirement | null {
  if (cuda === null || cuda.toolkit === null || cuda.driver === null || compute === null) return null;
  return {
    toolkit: cuda.toolkit.release,
    code: [...new Set(compute.targets.map(formatGpuTarget))],
    driver: cuda.driver,
    ...(cuda.require === null ? {} : { require: cuda.require }),
  };
}
