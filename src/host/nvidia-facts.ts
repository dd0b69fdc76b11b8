/** The NVIDIA facts of a machine whose driver was asked: each value with its source. */

import { cudaOfDriver } from "../hardware/cuda-toolkits.ts";
import { compareCudaVersions, parseCudaVersion } from "../hardware/driver-version.ts";
import { type CompletedGpus, completeGpus } from "./complete-gpus.ts";
import { supportProblem } from "./driver-support.ts";
import type { HostProblem, NvidiaFacts } from "./facts.ts";
import type { HostIo } from "./io.ts";
import { l4tNumber } from "./host-problems.ts";
import type { NvidiaReading } from "./raw-gpu.ts";
import type { Surroundings } from "./surroundings.ts";
import { unlistedProblems } from "./unlisted-gpus.ts";

export interface NvidiaResult {
  readonly facts: NvidiaFacts | null;
  readonly problems: readonly HostProblem[];
  readonly sources: Readonly<Record<string, string>>;
}

/** Facts from what the best source said, with the gaps filled and the problems of all in one list. */
export async function nvidiaFacts(
  io: HostIo,
  around: Surroundings,
  reading: NvidiaReading,
): Promise<NvidiaResult> {
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
      ...(await unlistedProblems(io, pci, facts, { ...around, reading })),
    ],
    sources: {
      ...source("nvidia.driver", driver.source),
      ...source("nvidia.module", module?.flavor == null ? null : module.source),
      ...source("nvidia.library", library.source),
      ...source("nvidia.cuda", cuda.source),
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
  const told = parseCudaVersion(reading.cuda);
  const known = branch === null ? null : parseCudaVersion(branch);
  const higher = told !== null && known !== null && compareCudaVersions(told, known) > 0;
  return higher && !wsl && tegra === null
    ? { value: branch, source: `driver branch (${reading.source} says ${reading.cuda}, of a compat library)` }
    : { value: reading.cuda, source: reading.source };
}

function l4tProblem({ module, tegra }: Surroundings): readonly HostProblem[] {
  const l4t = module?.l4t ?? (module === null && tegra !== null ? tegra.l4t : null);
  return l4t === null ? [] : [l4tNumber(l4t)];
}

/** Where the GPUs and their compute capabilities come from. */
export function gpuSources(
  from: string,
  { computeSource, gpus }: CompletedGpus,
): Readonly<Record<string, string>> {
  if (gpus.length === 0) return source("nvidia.gpus", from);
  return { ...source("nvidia.gpus", from), ...source("nvidia.gpus.compute", computeSource) };
}

function source(fact: string, from: string | null): Readonly<Record<string, string>> {
  return from === null ? {} : { [fact]: from };
}
