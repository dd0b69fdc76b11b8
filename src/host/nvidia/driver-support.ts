/** GPUs that the loaded driver does not list or cannot drive, and why. */

import { parseComputeCapability } from "../../hardware/compute-capability.ts";
import { driverBranch, parseDriverVersion } from "../../hardware/driver-version.ts";
import { branchDrives, findArchitecture } from "../../hardware/gpu-architectures.ts";
import type { GpuFacts, HostProblem, NvidiaFacts } from "../facts.ts";
import type { HostIo } from "../host-io.ts";
import { gpuLabel, missingDevices, noDevices, unsupported } from "../host-problems.ts";
import { completeGpus } from "./complete-gpus.ts";
import { fromPci, isExcluded } from "./proc-reading.ts";
import type { Surroundings } from "./surroundings.ts";

/** The reason why this driver cannot drive the GPU; null if none is known. */
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

/** GPUs that are on the PCI bus and that the loaded driver does not list: the reason, as far as it is known. */
export async function unlistedProblems(
  io: HostIo,
  { pci, container, wsl, tegra }: Surroundings,
  facts: NvidiaFacts,
  /** A problem that is reported already, such as a lost GPU, explains a missing one. */
  isExplained: boolean,
): Promise<readonly HostProblem[]> {
  // A container sees the whole bus and only its own GPUs; Tegra and WSL2 have theirs elsewhere.
  if (container || wsl || tegra !== null) return [];
  const listed = new Set(facts.gpus.map(({ bus }) => bus));
  const unlisted = pci.filter(({ bus }) => !listed.has(bus));
  const free = unlisted.filter(({ driver }) => driver === null);
  const unclaimed = await completeGpus(free.map(fromPci), pci, null);
  const reasons = unclaimed.gpus.map((gpu) => unclaimedProblem(gpu, facts));
  if (isExplained) return reasons;
  const missing = unlisted
    .filter(({ driver, bus }) => driver === "nvidia" && !isExcluded(io, bus))
    .map(({ bus }) => bus);
  if (facts.gpus.length === 0)
    return reasons.length > 0 && missing.length === 0
      ? reasons
      : [...reasons, noDevices(facts.driver, missing)];
  return missing.length === 0 || listed.has(null)
    ? reasons
    : [...reasons, missingDevices(facts.gpus.length, missing)];
}

/** For a GPU that no kernel driver holds although NVIDIA's is loaded. */
function unclaimedProblem(gpu: GpuFacts, facts: NvidiaFacts): HostProblem {
  return (
    supportProblem(gpu, facts) ??
    unsupported(
      gpuLabel(gpu),
      `driver ${facts.driver ?? "(unknown version)"} is loaded and did not take it`,
      "see dmesg for NVRM lines; install a driver that supports this GPU",
    )
  );
}
