/** Rule: an image for NVIDIA needs at least one visible GPU, a driver, and a driver that still drives every visible card. */

import { type ComputeCapability, formatComputeCapability } from "../../../hardware/compute-capability.ts";
import { cudaOfDriver } from "../../../hardware/cuda-toolkits.ts";
import { compareCudaVersions, driverBranch, parseCudaVersion } from "../../../hardware/driver-version.ts";
import { findArchitecture } from "../../../hardware/gpu-architectures.ts";
import { isLabelled } from "../../../host/host-problems.ts";
import type { HostView } from "../../host-view.ts";
import { misfit } from "../../misfit.ts";
import type { GpuView, NvidiaView } from "../../nvidia-view.ts";
import type { Misfit } from "../../verdict.ts";
import { because, noGpu, noneVisible } from "../gpu-presence.ts";
import type { RuleThresholds } from "../rule.ts";

/** At least one GPU is visible, and a driver drives them. */
interface UsableGpus {
  readonly ok: true;
  readonly nvidia: NvidiaView;
}

export function checkNvidiaPresence({
  nvidia,
  broken,
  otherProblems,
}: Pick<HostView, "nvidia" | "broken" | "otherProblems">): UsableGpus | Misfit {
  if (nvidia === null) return noGpu("nvidia", isLabelled(otherProblems));
  if (nvidia.driver === null) return because(withoutDriver(nvidia), "nvidia", [...broken, ...otherProblems]);
  if (nvidia.gpus.length === 0)
    return noneVisible("nvidia", `driver ${nvidia.driver.text}`, [...broken, ...otherProblems]);
  for (const gpu of nvidia.gpus) {
    const found = checkDriven(gpu, nvidia);
    if (found !== null) return found;
  }
  return { ok: true, nvidia };
}

function withoutDriver({ driverText, gpus, scale }: NvidiaView): Misfit {
  if (driverText !== null) {
    return misfit(
      "NO_NVIDIA_DRIVER",
      `needs an NVIDIA driver, this host's driver version "${driverText}" cannot be read`,
      "probe the host again, or correct nvidia.driver in its facts",
    );
  }
  if (scale === "l4t") {
    return misfit(
      "NO_NVIDIA_DRIVER",
      "needs an NVIDIA driver with a version, this Jetson's driver tells none",
      "upgrade to JetPack 6 or newer, whose driver has a version",
    );
  }
  const device = gpus[0]?.label ?? "an NVIDIA device";
  return misfit(
    "NO_NVIDIA_DRIVER",
    `needs an NVIDIA driver, this host has ${device} without one`,
    "install the NVIDIA kernel driver",
  );
}

/**
 * NVIDIA drops architectures: R580 is the last branch for Volta and older, R470 for Kepler. A newer driver does not see the card. The open kernel modules need the GSP of Turing, and Blackwell needs the open ones, and R570.
 * Sources: NVIDIA data-center driver documentation, "CUDA Toolkit, Driver and Architecture Matrix" and "Kernel Modules".
 */
function checkDriven(gpu: GpuView, nvidia: NvidiaView): Misfit | null {
  const { driver, module } = nvidia;
  if (nvidia.starts || gpu.compute === null || driver === null) return null;
  const name = `${gpu.label}, compute capability ${formatComputeCapability(gpu.compute)}`;
  const architecture = findArchitecture(gpu.compute);
  if (module === "open" && architecture?.openModule === "unsupported") {
    return misfit(
      "NO_GPU",
      `the open kernel modules of driver ${driver.text} do not drive ${name}: they need 7.5 or newer`,
      "install the proprietary kernel modules of branch 580 or older",
    );
  }
  if (module === "proprietary" && architecture?.openModule === "required") {
    return misfit(
      "NO_GPU",
      `the proprietary kernel modules of driver ${driver.text} do not drive ${name}: it needs the open ones`,
      `install the open kernel modules of the driver`,
    );
  }
  const first = branchToCome(gpu, nvidia);
  if (first !== null) {
    return misfit(
      "NO_GPU",
      `driver ${driver.text} does not drive ${name} yet: ${first} is the first branch that does`,
      [
        {
          text: `update the NVIDIA driver: ${driver.text} → >= ${first}`,
          remedy: { kind: "driver", version: String(first), atLeast: true },
        },
        ...(nvidia.gpus.some((each) => branchToCome(each, nvidia) === null)
          ? [{ text: "hide this GPU", remedy: null }]
          : []),
      ],
    );
  }
  const last = branchLeft(gpu, nvidia);
  if (last === null) return null;
  const others = nvidia.gpus.some((each) => branchLeft(each, nvidia) === null);
  return misfit(
    "NO_GPU",
    `driver ${driver.text} no longer drives ${name}: ${last} is the last branch that does`,
    [
      {
        text: `install the driver's branch ${last}: ${driver.text} → ${last}.x`,
        remedy: { kind: "driver", version: String(last), atLeast: false },
      },
      ...(others ? [{ text: "hide this GPU", remedy: null }] : []),
    ],
  );
}

/** The last branch that drives a GPU, if this driver is newer; null if it drives the GPU, as far as the tables know. */
function branchLeft({ compute }: GpuView, nvidia: NvidiaView): number | null {
  const last = compute === null ? null : (findArchitecture(compute)?.lastDriverBranch ?? null);
  return last !== null && isNewerThanBranch(nvidia, last) ? last : null;
}

/** The first branch that drives a GPU, if this driver is older; null if it drives the GPU, as far as the tables know. */
function branchToCome({ compute }: GpuView, nvidia: NvidiaView): number | null {
  const first = compute === null ? null : (findArchitecture(compute)?.firstDriverBranch ?? null);
  return first !== null && isOlderThanBranch(nvidia, first) ? first : null;
}

/** The branches at which drivers begin and cease to drive a GPU of this compute capability. */
export function presenceThresholds(compute: ComputeCapability): RuleThresholds {
  const { firstDriverBranch: first = null, lastDriverBranch: last = null } = findArchitecture(compute) ?? {};
  const branches = [first, last].filter((branch) => branch !== null);
  const drivers = [...(first === null ? [] : [String(first)]), ...(last === null ? [] : [String(last + 1)])];
  const cudas = branches.flatMap((branch) => cudaOfDriver(String(branch)) ?? []);
  return { drivers, cudas, after: last !== null };
}

function isOlderThanBranch({ driver, cuda, scale }: NvidiaView, branch: number): boolean {
  if (driver === null || scale === "l4t") return false;
  if (scale === "linux") return driverBranch(driver) < branch;
  const firstCuda = parseCudaVersion(cudaOfDriver(String(branch)) ?? "");
  return cuda !== null && firstCuda !== null && compareCudaVersions(cuda, firstCuda) < 0;
}

function isNewerThanBranch({ driver, cuda, scale }: NvidiaView, branch: number): boolean {
  if (driver === null || scale === "l4t") return false;
  if (scale === "linux") return driverBranch(driver) > branch;
  const lastCuda = parseCudaVersion(cudaOfDriver(String(branch)) ?? "");
  return cuda !== null && lastCuda !== null && compareCudaVersions(cuda, lastCuda) > 0;
}
