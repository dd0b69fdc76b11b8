/** Rule: an image for NVIDIA needs at least one visible GPU, a driver, and a driver that still drives every visible card. */

import { type ComputeCapability, formatComputeCapability } from "../../../hardware/compute-capability.ts";
import { cudaOfDriver } from "../../../hardware/cuda-toolkits.ts";
import { compareCudaVersions, driverBranch, parseCudaVersion } from "../../../hardware/driver-version.ts";
import { findArchitecture } from "../../../hardware/gpu-architectures.ts";
import { isLabelled } from "../../../facts/host-problems.ts";
import type { HostView } from "../../host-view.ts";
import { misfit } from "../../misfit.ts";
import type { GpuView, NvidiaView } from "../../nvidia-view.ts";
import type { Misfit } from "../../verdict.ts";
import { because, noGpu, noneVisible } from "../gpu-presence.ts";
import { chooseGpus } from "./code-cures.ts";
import { otherDriver } from "./driver-cures.ts";
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
    const found = checkSupported(gpu, nvidia);
    if (found !== null) return found;
  }
  return { ok: true, nvidia };
}

function withoutDriver({ driverText, gpus, driverScale }: NvidiaView): Misfit {
  if (driverText !== null) {
    return misfit(
      "NO_NVIDIA_DRIVER",
      `needs an NVIDIA driver, this host's driver version "${driverText}" cannot be read`,
      "probe the host again, or correct nvidia.driver in its facts",
    );
  }
  if (driverScale === "l4t") {
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
function checkSupported(gpu: GpuView, nvidia: NvidiaView): Misfit | null {
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
  const missed = missedBranch(gpu, nvidia);
  if (missed === null) return null;
  const { branch, isFirst } = missed;
  const supported = nvidia.gpus.filter((each) => missedBranch(each, nvidia) === null);
  const others = supported.length === 0 ? [] : [chooseGpus(supported)];
  if (isFirst) {
    const update = `update the NVIDIA driver: ${driver.text} → >= ${branch}`;
    const why = `driver ${driver.text} does not drive ${name} yet: ${branch} is the first branch that does`;
    return misfit("NO_GPU", why, [otherDriver(update, String(branch), true), ...others]);
  }
  const install = `install the driver's branch ${branch}: ${driver.text} → ${branch}.x`;
  const why = `driver ${driver.text} no longer drives ${name}: ${branch} is the last branch that does`;
  return misfit("NO_GPU", why, [otherDriver(install, String(branch)), ...others]);
}

/** For a driver that is too old, the first branch that drives the GPU; for one that is too new, the last branch; else null. */
function missedBranch({ compute }: GpuView, nvidia: NvidiaView) {
  const architecture = compute === null ? null : findArchitecture(compute);
  const { firstDriverBranch: first = null, lastDriverBranch: last = null } = architecture ?? {};
  if (first !== null && compareToBranch(nvidia, first) < 0) return { branch: first, isFirst: true };
  return last !== null && compareToBranch(nvidia, last) > 0 ? { branch: last, isFirst: false } : null;
}

/** The branches at which drivers begin and cease to drive a GPU of this compute capability. */
export function presenceThresholds(compute: ComputeCapability): RuleThresholds {
  const { firstDriverBranch: first = null, lastDriverBranch: last = null } = findArchitecture(compute) ?? {};
  const drivers = [...(first === null ? [] : [String(first)]), ...(last === null ? [] : [String(last + 1)])];
  const cudas = [first, last].flatMap((branch) => cudaOfDriver(String(branch)) ?? []);
  return { drivers, cudas, after: last !== null };
}

/** Negative for a driver that is older than the branch; 0 also where nobody can say. */
function compareToBranch({ driver, cuda, driverScale }: NvidiaView, branch: number): number {
  if (driver === null || driverScale === "l4t") return 0;
  if (driverScale === "linux") return driverBranch(driver) - branch;
  const offered = parseCudaVersion(cudaOfDriver(String(branch)) ?? "");
  return cuda === null || offered === null ? 0 : compareCudaVersions(cuda, offered);
}
