/** Rule for an image whose toolkit is unknown: each visible GPU must run some of its code. */

import { formatComputeCapability } from "../../../hardware/compute-capability.ts";
import { parseGpuTarget, targetRunsOn } from "../../../hardware/gpu-target.ts";
import { misfit } from "../../misfit.ts";
import type { GpuView } from "../../nvidia-view.ts";
import type { Misfit } from "../../verdict.ts";

/** The reason why a GPU runs none of this code, whatever its toolkit and the driver; null if each may run some. */
export function checkAnyCode(code: readonly string[], gpus: readonly GpuView[]): Misfit | null {
  const targets = code.flatMap((text) => parseGpuTarget(text) ?? []);
  const lacking = gpus.find(
    ({ compute }) => compute !== null && !targets.some((target) => targetRunsOn(target, compute)),
  );
  if (lacking === undefined || lacking.compute === null) return null;
  const number = formatComputeCapability(lacking.compute);
  return {
    ...misfit(
      "NO_GPU_CODE",
      `has ${code.join(", ")}, none of which runs on ${lacking.label}, compute capability ${number}`,
      `take a build with code for compute capability ${number}`,
    ),
    short: `no code for compute capability ${number}`,
  };
}
