/** The NVIDIA part of the facts: each value from the best source that has it. Nothing is spawned while NVML has the answer. */

import { cudaOfDriver, cudaUnder } from "../../hardware/cuda-toolkits.ts";
import type { HostProblem, NvidiaFacts } from "../../facts/facts.ts";
import type { SideContext } from "../gpu-side.ts";
import type { HostIo } from "../host-io.ts";
import * as problem from "../../facts/host-problems.ts";
import { knownSources } from "../../facts/no-facts.ts";
import { completeGpus, gpuSources } from "./complete-gpus.ts";
import { isWithheld } from "./device-nodes.ts";
import type { NvidiaPart, NvidiaReading } from "./nvidia-reading.ts";
import { procCards } from "./proc-reading.ts";
import { readDriver, tegraReading } from "./read-driver.ts";
import { readSurroundings, type Surroundings } from "./surroundings.ts";

/** The facts are null when there is neither an NVIDIA device nor a driver. */
export async function readNvidia(
  io: HostIo,
  question: Pick<SideContext, "pci" | "pairs">,
): Promise<NvidiaPart> {
  const around = readSurroundings(io, question);
  if (around === null) return noNvidia;
  if (around.driver) {
    const reading = await readDriver(io, around);
    return reading === null ? noNvidia : factsOf(io, around, reading);
  }
  if (around.tegra === null) return (await import("./driver-support.ts")).withoutDriver(around);
  return factsOf(io, around, tegraReading(around.tegra));
}

const noNvidia: NvidiaPart = { facts: null, problems: [], sources: {} };

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
    ...(reading.ready !== undefined && { ready: reading.ready }),
    gpus: completed.gpus,
  };
  const listed = new Set(completed.gpus.map(({ bus }) => bus));
  const known = [...pci, ...(around.container ? [] : procCards(io))];
  const isComplete = completed.gpus.length > 0 && known.every(({ bus }) => bus === null || listed.has(bus));
  return {
    facts,
    problems: [
      ...around.problems,
      ...l4tProblem(around),
      ...reading.problems,
      ...(reading.lacksCuda && isLinux(around) && !isWithheld(io) ? [problem.noLibcuda()] : []),
      ...completed.problems,
      ...(isComplete && isDriversWord(reading.source)
        ? []
        : await driverProblems(io, around, facts, reading)),
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

/** A driver that lists its GPUs drives them, whatever the tables say. */
async function driverProblems(
  io: HostIo,
  around: Surroundings,
  facts: NvidiaFacts,
  { source, problems, gpus }: NvidiaReading,
): Promise<readonly HostProblem[]> {
  const { supportProblem, unlistedProblems } = await import("./driver-support.ts");
  const unconfirmed = isDriversWord(source) ? [] : facts.gpus;
  return [
    ...unconfirmed.flatMap((gpu) => supportProblem(gpu, facts) ?? []),
    ...(await unlistedProblems(io, around, facts, {
      isExplained: problems.length > 0,
      listsNone: gpus?.length === 0 && isDriversWord(source),
    })),
  ];
}

function isDriversWord(source: string): boolean {
  return source === "nvml" || source === "nvidia-smi";
}

/** WSL2 and Jetson have other libraries in other folders. */
function isLinux({ wsl, tegra }: Surroundings): boolean {
  return !wsl && tegra === null;
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

/** Where the driver works, a library of another version is a leftover, and the driver loads another. */
function libraryOf({ libraries }: Surroundings, reading: NvidiaReading, driver: string | null): Sourced {
  const mismatched = reading.problems.some(({ code }) => code === "HOST_DRIVER_LIBRARY_MISMATCH");
  const isOwn = (version: string | null) => driver === null || (version === driver) !== mismatched;
  if (reading.library !== null && isOwn(reading.library))
    return { value: reading.library, source: reading.source };
  const found = libraries.find(({ version }) => isOwn(version));
  return found === undefined ? unknown : { value: found.version, source: found.source };
}

/**
 * NVML tells the CUDA version of the first libcuda on the loader's path. Inside a container, the first can be a forward-compatibility library.
 * So the answer is never more than the driver's own branch offers.
 */
function cudaOf(around: Surroundings, reading: NvidiaReading, driver: string | null): Sourced {
  const { cuda, source } = reading;
  if (cuda === null) {
    const branch = driver === null ? null : cudaOfDriver(driver);
    return branch === null ? unknown : { value: branch, source: "driver branch" };
  }
  const offered = isLinux(around) ? cudaUnder(driver, cuda) : cuda;
  return offered === cuda
    ? { value: cuda, source }
    : { value: offered, source: `driver branch (${source} says ${cuda}, of a compat library)` };
}

function l4tProblem({ module, tegra }: Surroundings): readonly HostProblem[] {
  const l4t = module?.l4t ?? (module === null && tegra !== null ? tegra.l4t : null);
  return l4t === null ? [] : [problem.l4tNumber(l4t)];
}
