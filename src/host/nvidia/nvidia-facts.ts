/** The NVIDIA part of the facts: each value from the best source that has it. Nothing is spawned while NVML has the answer. */

import { cudaOfDriver } from "../../hardware/cuda-toolkits.ts";
import {
  compareCudaVersions,
  driverBranch,
  parseCudaVersion,
  parseDriverVersion,
} from "../../hardware/driver-version.ts";
import type { FactsPart, GpuFacts, HostFacts, HostProblem, NvidiaFacts } from "../facts.ts";
import type { HostIo } from "../host-io.ts";
import * as problem from "../host-problems.ts";
import { type PciGpu, pciPath } from "../pci.ts";
import { knownSources, unknownNvidia } from "../no-facts.ts";
import { type CompletedGpus, completeGpus } from "./complete-gpus.ts";
import type { NvidiaReading } from "./nvidia-reading.ts";
import { fromPci, isExcluded } from "./proc-reading.ts";
import { readDriver, tegraReading } from "./read-driver.ts";
import { readSurroundings, type Surroundings } from "./surroundings.ts";
import { parseComputeCapability } from "../../hardware/compute-capability.ts";
import { branchDrives, findArchitecture } from "../../hardware/gpu-architectures.ts";

type NvidiaPart = FactsPart<NvidiaFacts | null>;

/** The facts are null when there is neither an NVIDIA device nor a driver. */
export async function readNvidia(io: HostIo, pci: readonly PciGpu[]): Promise<NvidiaPart> {
  const around = readSurroundings(io, pci);
  if (around === null) return { facts: null, problems: [], sources: {} };
  if (around.driver) return factsOf(io, around, await readDriver(io, around));
  return around.tegra === null ? withoutDriver(around) : factsOf(io, around, tegraReading(around.tegra));
}

/** GPUs that no NVIDIA driver holds: their products, and the driver that holds them instead. */
async function withoutDriver({ pci, problems }: Surroundings): Promise<NvidiaPart> {
  const ours = pci.filter(({ driver }) => driver === null || driver === "nouveau" || driver === "nvidia");
  const others = pci.filter((gpu) => !ours.includes(gpu));
  const buses = (gpus: readonly PciGpu[]) => gpus.map(({ bus }) => bus);
  const held = ours.filter(({ driver }) => driver === "nouveau");
  const free = ours.filter(({ driver }) => driver !== "nouveau");
  const [other] = others;
  const completed = await completeGpus(ours.map(fromPci), pci, null);
  return {
    facts: { ...unknownNvidia, gpus: completed.gpus },
    problems: [
      ...problems,
      ...(held.length > 0 ? [problem.nouveau(buses(held))] : []),
      ...(free.length > 0 ? [problem.noDriver(buses(free))] : []),
      ...(ours.length === 0 && other !== undefined
        ? [problem.otherDriver(buses(others), other.driver ?? "another driver")]
        : []),
      ...completed.problems,
    ],
    sources: gpuSources(pciPath, completed),
  };
}

/** Completes the reading of the driver with what the surroundings and the tables tell. */
async function factsOf(io: HostIo, around: Surroundings, reading: NvidiaReading): Promise<NvidiaPart> {
  const { module, pci, tegra } = around;
  const completed = await completeGpus(reading.gpus ?? [], pci, tegra);
  const driver = driverOf(around, reading);
  const library = libraryOf(around, reading, driver.value);
  const cuda = cudaOf(around, reading, driver.value);
  const facts: NvidiaFacts = {
    driver: driver.value,
    ...scaleOf(around),
    module: module?.flavor ?? null,
    library: library.value,
    cuda: cuda.value,
    gpus: completed.gpus,
  };
  const confirmed = reading.source === "nvml" || reading.source === "nvidia-smi";
  return {
    facts,
    problems: [
      ...around.problems,
      ...l4tProblem(around),
      ...reading.problems,
      ...completed.problems,
      ...(confirmed ? [] : completed.gpus.flatMap((gpu) => supportProblem(gpu, facts) ?? [])),
      ...(await unlistedProblems(io, around, facts, reading.problems.length > 0)),
    ],
    sources: {
      ...knownSources({
        "nvidia.driver": driver.source,
        "nvidia.module": module?.flavor == null ? null : module.source,
        "nvidia.library": library.source,
        "nvidia.cuda": cuda.source,
      }),
      ...(reading.gpus === null ? {} : gpuSources(reading.source, completed)),
    },
  };
}

function scaleOf({ wsl, tegra }: Surroundings): Pick<NvidiaFacts, "driverScale"> {
  if (wsl) return { driverScale: "wsl" };
  return tegra === null ? {} : { driverScale: "l4t" };
}

interface Sourced {
  readonly value: string | null;
  readonly source: string | null;
}

const unknown: Sourced = { value: null, source: null };

/** Windows counts its drivers differently (572.70 is R570), so on WSL2 the Linux libraries' number stands for it. */
function driverOf({ module, wsl }: Surroundings, reading: NvidiaReading): Sourced {
  if (wsl) {
    const windows = reading.driver === null ? "" : `; Windows driver ${reading.driver}`;
    return reading.library === null
      ? unknown
      : { value: reading.library, source: `${reading.source} (WSL2 library${windows})` };
  }
  if (module !== null && module.version !== null) return { value: module.version, source: module.source };
  return module?.l4t != null || reading.driver === null
    ? unknown
    : { value: reading.driver, source: reading.source };
}

function libraryOf({ libraries }: Surroundings, reading: NvidiaReading, driver: string | null): Sourced {
  if (reading.library !== null) return { value: reading.library, source: reading.source };
  const mismatched = reading.problems.some(({ code }) => code === "HOST_DRIVER_LIBRARY_MISMATCH");
  const found = libraries.find(({ version }) => (version === driver) !== mismatched) ?? libraries[0];
  return found === undefined ? unknown : { value: found.version, source: found.source };
}

/**
 * NVML tells the CUDA version of the libcuda that it finds first, which can be a forward-compatibility library inside a
 * container: never more than the driver's own branch offers.
 */
function cudaOf({ wsl, tegra }: Surroundings, reading: NvidiaReading, driver: string | null): Sourced {
  const branch = driver === null ? null : cudaOfDriver(driver);
  if (reading.cuda === null) return branch === null ? unknown : { value: branch, source: "driver branch" };
  const reported = parseCudaVersion(reading.cuda);
  const known = branch === null ? null : parseCudaVersion(branch);
  const isHigher = reported !== null && known !== null && compareCudaVersions(reported, known) > 0;
  return isHigher && !wsl && tegra === null
    ? { value: branch, source: `driver branch (${reading.source} says ${reading.cuda}, of a compat library)` }
    : { value: reading.cuda, source: reading.source };
}

function l4tProblem({ module, tegra }: Surroundings): readonly HostProblem[] {
  const l4t = module?.l4t ?? (module === null && tegra !== null ? tegra.l4t : null);
  return l4t === null ? [] : [problem.l4tNumber(l4t)];
}

/** The sources of the GPUs and of their compute capabilities. */
function gpuSources(from: string, { computeSource, gpus }: CompletedGpus): HostFacts["sources"] {
  const compute = gpus.length === 0 ? null : computeSource;
  return knownSources({ "nvidia.gpus": from, "nvidia.gpus.compute": compute });
}

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
    return problem.unsupported(
      problem.gpuLabel(gpu),
      reason,
      `install a driver of branch ${isTooOld ? `${first} or newer` : last}`,
    );
  }
  if (module === "open" && architecture.openModule === "unsupported") {
    const reason = `the open kernel module ${driver} does not drive ${generation}: it needs a GSP, from Turing (7.5) on`;
    return problem.unsupported(problem.gpuLabel(gpu), reason, "install the proprietary flavor of the driver");
  }
  if (module === "proprietary" && architecture.openModule === "required") {
    const reason = `the proprietary kernel module ${driver} does not drive ${generation}`;
    return problem.unsupported(problem.gpuLabel(gpu), reason, "install the open flavor of the driver");
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
      : [...reasons, problem.noDevices(facts.driver, missing)];
  return missing.length === 0 || listed.has(null)
    ? reasons
    : [...reasons, problem.missingDevices(facts.gpus.length, missing)];
}

/** For a GPU that no kernel driver holds although NVIDIA's is loaded. */
function unclaimedProblem(gpu: GpuFacts, facts: NvidiaFacts): HostProblem {
  return (
    supportProblem(gpu, facts) ??
    problem.unsupported(
      problem.gpuLabel(gpu),
      `driver ${facts.driver ?? "(unknown version)"} is loaded and did not take it`,
      "see dmesg for NVRM lines; install a driver that supports this GPU",
    )
  );
}
