/** Whether the loaded driver can drive a GPU at all, for GPUs that the driver itself does not list. */

import { parseComputeCapability } from "../../hardware/compute-capability.ts";
import { branchDrives, findArchitecture } from "../../hardware/gpu-architectures.ts";
import { driverBranch, parseDriverVersion } from "../../hardware/driver-version.ts";
import { gpuLabel } from "./complete-gpus.ts";
import type { GpuFacts, HostProblem, NvidiaFacts } from "../facts.ts";
import { unsupported } from "../host-problems.ts";

/** The known reason why this driver does not drive the GPU, or null. */
export function supportProblem(
  gpu: GpuFacts,
  { driver, module }: Pick<NvidiaFacts, "driver" | "module">,
): HostProblem | null {
  const compute = gpu.compute === null ? null : parseComputeCapability(gpu.compute);
  const architecture = compute === null ? null : findArchitecture(compute);
  const version = driver === null ? null : parseDriverVersion(driver);
  if (architecture === null || version === null) return null;
  const generation = `${architecture.name}, compute capability ${gpu.compute}`;
  if (branchDrives(architecture, driverBranch(version)) === false) {
    const { firstDriverBranch: first, lastDriverBranch: last } = architecture;
    const isTooOld = first !== null && driverBranch(version) < first;
    const reason = isTooOld
      ? `driver ${driver} does not drive ${generation} yet; R${first} is the first branch that does`
      : `driver ${driver} no longer drives ${generation}; R${last} is the last branch that does`;
    return unsupported(
      gpuLabel(gpu),
      reason,
      `install a driver of branch ${isTooOld ? `${first} or newer` : last}`,
    );
  }
  if (module === "open" && architecture.openModule === "unsupported") {
    const reason = `the open kernel module ${driver} does not drive ${generation}: it needs a GSP, from Turing (7.5) on`;
    return unsupported(gpuLabel(gpu), reason, "install the proprietary flavor of the driver");
  }
  if (module === "proprietary" && architecture.openModule === "required") {
    const reason = `the proprietary kernel module ${driver} does not drive ${generation}`;
    return unsupported(gpuLabel(gpu), reason, "install the open flavor of the driver");
  }
  return null;
}

/** For a GPU that no kernel driver holds although the NVIDIA one is loaded: the known reason, or that there is one. */
export function unclaimedProblem(gpu: GpuFacts, facts: Pick<NvidiaFacts, "driver" | "module">): HostProblem {
  return (
    supportProblem(gpu, facts) ??
    unsupported(
      gpuLabel(gpu),
      `driver ${facts.driver ?? "(unknown version)"} is loaded and did not take it`,
      "see dmesg for NVRM lines; install a driver that supports this GPU",
    )
  );
}
