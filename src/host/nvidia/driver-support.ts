/** GPUs without a driver, and GPUs that the loaded driver does not list or cannot drive, and why. */

import { parseComputeCapability } from "../../hardware/compute-capability.ts";
import { driverBranch, parseDriverVersion } from "../../hardware/driver-version.ts";
import { branchDrives, findArchitecture, type GpuArchitecture } from "../../hardware/gpu-architectures.ts";
import type { GpuFacts, HostProblem, NvidiaFacts } from "../../facts/facts.ts";
import type { HostIo } from "../host-io.ts";
import { count } from "../../io/table.ts";
import * as problem from "../../facts/host-problems.ts";
import { unknownNvidia } from "../../facts/no-facts.ts";
import type { PciGpu } from "../pci.ts";
import { pciPath } from "../../facts/facts.ts";
import { completeGpus, gpuSources } from "./complete-gpus.ts";
import type { NvidiaPart } from "./nvidia-reading.ts";
import { fromPci, isExcluded, procCards } from "./proc-reading.ts";
import type { Surroundings } from "./surroundings.ts";

type DriverFacts = Pick<NvidiaFacts, "driver" | "module">;

/** The reason why this driver cannot drive the GPU; null if none is known. `others` are the cards that the cure must not lose. */
export function supportProblem(
  gpu: GpuFacts,
  driver: DriverFacts,
  others: readonly GpuFacts[] = [],
): HostProblem | null {
  const cause = whyUndriven(gpu, driver, others);
  return cause === null ? null : unsupported(problem.gpuLabel(gpu), cause);
}

function whyUndriven(
  gpu: GpuFacts,
  { driver, module }: DriverFacts,
  others: readonly GpuFacts[],
): problem.KnownCause | null {
  const architecture = architectureOf(gpu);
  const version = driver === null ? null : parseDriverVersion(driver);
  if (architecture === null || version === null) return null;
  const generation = `${architecture.name}, compute capability ${gpu.compute}`;
  if (branchDrives(architecture, driverBranch(version)) === false) {
    const { firstDriverBranch: first, lastDriverBranch: last } = architecture;
    const isTooOld = first !== null && driverBranch(version) < first;
    const branch = isTooOld ? first : last;
    const loses = (other: GpuArchitecture) => branch !== null && branchDrives(other, branch) === false;
    return {
      reason: isTooOld
        ? `driver ${driver} does not drive ${generation} yet; R${first} is the first branch that does`
        : `driver ${driver} no longer drives ${generation}; R${last} is the last branch that does`,
      fix: installing(`a driver of branch ${branch}${isTooOld ? " or newer" : ""}`, "branch", others, loses),
    };
  }
  if (module === "open" && architecture.openModule === "unsupported") {
    const loses = ({ openModule }: GpuArchitecture) => openModule === "required";
    return {
      reason: `the open kernel module ${driver} does not drive ${generation}: it needs a GSP, from Turing (7.5) on`,
      fix: installing("the proprietary flavor of the driver", "flavor", others, loses),
    };
  }
  if (module === "proprietary" && architecture.openModule === "required") {
    const loses = ({ openModule }: GpuArchitecture) => openModule === "unsupported";
    return {
      reason: `the proprietary kernel module ${driver} does not drive ${generation}`,
      fix: installing("the open flavor of the driver", "flavor", others, loses),
    };
  }
  return null;
}

/** One driver drives all cards: a driver that loses another card cures nothing. */
function installing(
  what: string,
  kind: "branch" | "flavor",
  others: readonly GpuFacts[],
  loses: (architecture: GpuArchitecture) => boolean,
): string {
  const lost = others.filter((gpu) => {
    const architecture = architectureOf(gpu);
    return architecture !== null && loses(architecture);
  });
  return lost.length === 0
    ? `install ${what}`
    : `no ${kind} of the driver drives this GPU and GPU ${lost.map(problem.gpuLabel).join(", ")} together: move one GPU to another machine, or hand it to a virtual machine`;
}

function architectureOf({ compute }: GpuFacts): GpuArchitecture | null {
  const parsed = compute === null ? null : parseComputeCapability(compute);
  return parsed === null ? null : findArchitecture(parsed);
}

/** Linux' own drivers of NVIDIA's GPUs: the name in sysfs, and the kernel module. Source: drivers/gpu/drm/nouveau, drivers/gpu/nova-core. */
const freeDrivers: Readonly<Record<string, string>> = { nouveau: "nouveau", NovaCore: "nova_core" };

/** GPUs that no NVIDIA driver holds: their products, and the driver that holds them instead. */
export async function withoutDriver({ pci, problems, libraries }: Surroundings): Promise<NvidiaPart> {
  const isFree = ({ driver }: PciGpu) => driver !== null && Object.hasOwn(freeDrivers, driver);
  const ours = pci.filter((gpu) => gpu.driver === null || gpu.driver === "nvidia" || isFree(gpu));
  const others = pci.filter((gpu) => !ours.includes(gpu));
  const buses = (gpus: readonly PciGpu[]) => gpus.map(({ bus }) => bus);
  const heldBy = (name: string) => ours.filter(({ driver }) => driver === name);
  const free = ours.filter((gpu) => !isFree(gpu));
  const [other] = others;
  const completed = await completeGpus(ours.map(fromPci), pci, null);
  const idle = completed.gpus.filter(({ bus }) => free.some((gpu) => gpu.bus === bus));
  const cause = whyNotLoaded(idle, libraries[0]?.version ?? null);
  return {
    facts: { ...unknownNvidia, gpus: completed.gpus },
    problems: [
      ...problems,
      ...Object.entries(freeDrivers)
        .filter(([name]) => heldBy(name).length > 0)
        .map(([name, module]) => freeDriver(buses(heldBy(name)), name, module)),
      ...(free.length > 0 ? [noDriver(buses(free), cause)] : []),
      ...(ours.length === 0 && other !== undefined
        ? [otherDriver(buses(others), other.driver ?? "another driver")]
        : []),
      ...completed.problems,
    ],
    sources: gpuSources(pciPath, completed),
  };
}

/** For GPUs without a loaded driver: the branch of which the libraries on disk are, or any newer branch, may have dropped the card. */
export function whyNotLoaded(gpus: readonly GpuFacts[], installed: string | null): problem.KnownCause | null {
  const found = gpus.flatMap((gpu) => whyUndriven(gpu, { driver: installed, module: null }, gpus) ?? []);
  if (found[0] !== undefined || installed !== null) return found[0] ?? null;
  const last = gpus.flatMap((gpu) => architectureOf(gpu)?.lastDriverBranch ?? []);
  if (last.length === 0) return null;
  const branch = Math.min(...last);
  return {
    reason: `R${branch} is the last branch that drives it`,
    fix: installing(
      `a driver of branch ${branch}`,
      "branch",
      gpus,
      (each) => branchDrives(each, branch) === false,
    ),
  };
}

/** GPUs that the bus or the module has and that the loaded driver does not list: the reason, as far as it is known. */
export async function unlistedProblems(
  io: HostIo,
  { pci, container, wsl, tegra }: Surroundings,
  facts: NvidiaFacts,
  {
    isExplained,
    listsNone,
  }: {
    /** A problem that is reported already, such as a lost GPU, explains a missing one. */
    readonly isExplained: boolean;
    /** The driver answers, and has no GPU. */
    readonly listsNone: boolean;
  },
): Promise<readonly HostProblem[]> {
  const isElsewhere = wsl || tegra !== null;
  // A container sees the whole bus and lists its own GPUs alone; Tegra and WSL2 have theirs elsewhere.
  if ((container || isElsewhere) && (isExplained || !listsNone)) return [];
  if (isElsewhere) return [problem.noDevices(facts.driver, [])];
  const cards = procCards(io).filter(({ node }) => !container || (node !== null && io.exists(node)));
  const listed = new Set(facts.gpus.map(({ bus }) => bus));
  const held = new Set(cards.flatMap(({ bus }) => bus ?? []));
  const unlisted = pci.filter(({ bus }) => !listed.has(bus) && (!container || held.has(bus)));
  const free = unlisted.filter(({ driver }) => driver === null);
  const unclaimed = await completeGpus(free.map(fromPci), pci, null);
  const reasons = unclaimed.gpus.map((gpu) => unclaimedProblem(gpu, facts));
  if (isExplained) return reasons;
  const bound = unlisted.filter(({ driver, bus }) => driver === "nvidia" && !isExcluded(io, bus));
  // A container may see no bus.
  const onBus = new Set(pci.map(({ bus }) => bus));
  const offBus = [...held].filter((bus) => !onBus.has(bus) && !listed.has(bus));
  const missing = [...bound.map(({ bus }) => bus), ...offBus].sort();
  // The device of a card that the module does not drive stays bound to the module.
  const { gpus } = await completeGpus(bound.map(fromPci), pci, null);
  const cause = gpus.flatMap((gpu) => whyUndriven(gpu, facts, [...facts.gpus, ...gpus]) ?? [])[0] ?? null;
  if (facts.gpus.length === 0)
    return reasons.length > 0 && missing.length === 0
      ? reasons
      : [...reasons, problem.noDevices(facts.driver, missing, cause)];
  return missing.length === 0 || listed.has(null)
    ? reasons
    : [...reasons, missingDevices(facts.gpus.length, missing, cause)];
}

/** For a GPU that no kernel driver holds although NVIDIA's is loaded. */
function unclaimedProblem(gpu: GpuFacts, facts: NvidiaFacts): HostProblem {
  return (
    supportProblem(gpu, facts, facts.gpus) ??
    unsupported(problem.gpuLabel(gpu), {
      reason: `driver ${facts.driver ?? "(unknown version)"} is loaded and did not take it`,
      fix: "see dmesg for NVRM lines; install a driver that supports this GPU",
    })
  );
}

function noDriver(devices: readonly string[], cause: problem.KnownCause | null): HostProblem {
  return {
    code: "HOST_NO_DRIVER",
    message: `${count(devices.length, "NVIDIA GPU")} (${devices.join(", ")}) and no NVIDIA kernel module loaded${problem.because(cause)}`,
    fix: cause?.fix ?? "install the NVIDIA driver, or load it: modprobe nvidia",
  };
}

/** For the free drivers of Linux, as sysfs names them: nouveau, NovaCore. Of them nouveau alone has the option `modeset`. */
function freeDriver(devices: readonly string[], driver: string, module: string): HostProblem {
  return {
    code: "HOST_NOUVEAU",
    message: `${driver} holds ${count(devices.length, "NVIDIA GPU")} (${devices.join(", ")}); CUDA needs NVIDIA's own driver`,
    fix: `blacklist ${module} (blacklist ${module}${module === "nouveau" ? ", options nouveau modeset=0" : ""}), install the NVIDIA driver, reboot`,
  };
}

function otherDriver(devices: readonly string[], driver: string): HostProblem {
  return {
    code: "HOST_GPU_TAKEN",
    message: `${driver} holds ${count(devices.length, "NVIDIA GPU")} (${devices.join(", ")}), which this system therefore cannot use`,
    fix: `unbind the GPU from ${driver} and bind it to nvidia, or resolve inside its virtual machine`,
  };
}

function missingDevices(
  listed: number,
  missing: readonly string[],
  cause: problem.KnownCause | null,
): HostProblem {
  return {
    code: "HOST_NO_DEVICES",
    message: `the driver lists ${count(listed, "GPU")}, the PCI bus has ${missing.join(", ")} too${problem.because(cause)}`,
    fix:
      cause?.fix ??
      "see dmesg for NVRM lines about this GPU, then power-cycle the machine or take the GPU out of service",
  };
}

function unsupported(gpu: string, { reason, fix }: problem.KnownCause): HostProblem {
  return { code: "HOST_GPU_UNSUPPORTED_BY_DRIVER", message: `GPU ${gpu}: ${reason}`, fix };
}
