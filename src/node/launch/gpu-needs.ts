/** The GPU units that an image gets, and the refusals of a host that cannot hand them over. */

import { ImgmatchError } from "../../errors.ts";
import { type GpuUnit, unitsOf } from "./gpu-units.ts";
import type { LaunchRequest } from "./target.ts";
import { unsupported } from "./unsupported.ts";

/** The units that the container gets; empty for an image without GPU code. Throws `LAUNCH_FAILED` when it needs one and gets none. */
export function neededUnits({ requires, host, units = unitsOf(host) }: LaunchRequest): readonly GpuUnit[] {
  if (requires.cuda === null) return [];
  if (units.length === 0) {
    throw new ImgmatchError({
      code: "LAUNCH_FAILED",
      message: "the image needs a GPU and this host has none visible",
      fix: "run imgmatch resolve to see which image fits",
    });
  }
  return units;
}

/** The refusal for a host that has nothing to hand its GPUs over. */
export function withoutToolkit(message: string): ImgmatchError {
  const fix =
    "install the NVIDIA Container Toolkit and run: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml";
  return new ImgmatchError({ code: "LAUNCH_FAILED", message, fix });
}

export function withoutRuntime(): ImgmatchError {
  return withoutToolkit("the image takes the host's NVIDIA driver and Docker has no NVIDIA runtime here");
}

/** Its name in the specification that nvidia-ctk writes. */
export function cdiName({ name }: GpuUnit): string {
  return `nvidia.com/gpu=${name}`;
}

export function isBundled({ requires: { cuda } }: LaunchRequest): boolean {
  return cuda?.driver.mode === "bundled";
}

/**
 * Device nodes for an image that brings its own driver: one per GPU, the control device and unified memory.
 * Source: NVIDIA driver README, "Device nodes". A MIG instance has nodes below /dev/nvidia-caps whose numbers only the host's
 * /proc/driver/nvidia-caps tells: refused.
 */
export function deviceNodes(target: string, units: readonly GpuUnit[]): readonly string[] {
  if (units.some(({ mig }) => mig !== null)) {
    throw unsupported(
      target,
      "hand a MIG instance to an image that bundles its driver",
      "use an image that takes the host's driver (driver mode host), or a GPU without MIG",
    );
  }
  const gpus = units.map(({ gpu }) => `/dev/nvidia${gpu.index}`);
  return [...gpus, "/dev/nvidiactl", "/dev/nvidia-uvm"];
}

/** For schedulers that count whole GPUs only. */
export function wholeGpus(target: string, request: LaunchRequest): number {
  const units = neededUnits(request);
  if (units.some(({ mig }) => mig !== null))
    throw unsupported(target, "hand out MIG instances, only whole GPUs", "use a node without MIG");
  return units.length;
}
