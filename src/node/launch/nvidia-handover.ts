/** The way of NVIDIA's GPUs into a container. */

import { ImgmatchError } from "../../errors.ts";
import { specificationCure } from "../../facts/toolkit-cures.ts";
import { type GpuUnit, traitsOf, unitId } from "./gpu-units.ts";
import { type Handover, isBundled, type LaunchRequest, type LocalEngine } from "./target.ts";
import { unsupported } from "./unsupported.ts";

export function handOverNvidia(
  engine: LocalEngine,
  request: LaunchRequest,
  units: readonly GpuUnit[],
): Handover {
  const { nvidia, toolkit } = request.host.runtime;
  // A bundled driver needs only the kernel's devices: the host's library, which a runtime mounts, would break it.
  if (isBundled(request)) return { via: "files", devices: deviceNodes(engine, units), groups: [] };
  if (engine === "podman" && (nvidia === "legacy" || nvidia === "none"))
    throw withoutSpecification(
      "podman gets GPUs through CDI, and this host has no CDI specification for them",
      nvidia === "none" ? null : toolkit,
    );
  if (nvidia === "none")
    throw withoutSpecification(
      "the image takes the host's NVIDIA driver and Docker has no NVIDIA runtime here",
      null,
    );
  if (engine !== "podman" && nvidia !== "cdi") return { via: "runtime", ids: units.map(unitId) };
  // The device names in the specification that nvidia-ctk writes.
  return { via: "cdi", devices: units.map(({ name }) => `nvidia.com/gpu=${name}`), groups: [] };
}

function withoutSpecification(message: string, toolkit: string | null | undefined): ImgmatchError {
  return new ImgmatchError({ code: "LAUNCH_FAILED", message, fix: specificationCure(toolkit) });
}

/**
 * NVIDIA's device nodes, for an image that bundles its driver: one per GPU, the control device and unified memory (NVIDIA driver README,
 * "Device nodes"). Refuses MIG instances: only the host's /proc/driver/nvidia-caps tells the numbers of their nodes.
 */
export function deviceNodes(target: string, units: readonly GpuUnit[]): readonly string[] {
  if (units.some(({ mig }) => mig !== null)) {
    throw unsupported(
      target,
      "hand a MIG instance to an image that bundles its driver",
      "use an image that takes the host's driver (driver mode host), or a GPU without MIG",
    );
  }
  return [...units.flatMap((unit) => traitsOf(unit).file ?? []), "/dev/nvidiactl", "/dev/nvidia-uvm"];
}
