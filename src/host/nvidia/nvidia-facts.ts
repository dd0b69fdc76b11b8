/** The NVIDIA facts of a machine whose driver was asked: each value with its source. */

import { cudaOfDriver } from "../../hardware/cuda-toolkits.ts";
import { compareCudaVersions, parseCudaVersion } from "../../hardware/driver-version.ts";
import { type CompletedGpus, completeGpus } from "./complete-gpus.ts";
import { supportProblem, unclaimedProblem } from "./driver-support.ts";
import type { HostProblem, NvidiaFacts } from "../facts.ts";
import { l4tNumber, missingDevices, noDevices } from "../host-problems.ts";
import type { HostIo } from "../host-io.ts";
import type { PciGpu } from "../pci.ts";
import { fromPci, parseProcGpu, procGpusPath } from "./proc-reading.ts";
import type { NvidiaReading } from "./nvidia-reading.ts";
import type { Surroundings } from "./surroundings.ts";

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

/** The sources of the GPUs and of their compute capabilities. */
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

/** GPUs that are on the PCI bus and that the loaded driver does not list: the reason, as far as it can be known. */
interface UnlistedContext {
  readonly container: boolean;
  readonly wsl: boolean;
  readonly tegra: unknown;
  readonly reading: NvidiaReading;
}

async function unlistedProblems(
  io: HostIo,
  pci: readonly PciGpu[],
  facts: NvidiaFacts,
  { container, wsl, tegra, reading }: UnlistedContext,
): Promise<readonly HostProblem[]> {
  // A container sees the whole bus and only its own GPUs; Tegra and WSL2 have theirs elsewhere.
  if (container || wsl || tegra !== null) return [];
  const listed = new Set(facts.gpus.map(({ bus }) => bus));
  const unlisted = pci.filter(({ bus }) => !listed.has(bus));
  const unclaimed = await completeGpus(
    unlisted.filter(({ driver }) => driver === null).map(fromPci),
    pci,
    null,
  );
  const reasons = unclaimed.gpus.map((gpu) => unclaimedProblem(gpu, facts));
  // A state that is already named, such as a lost GPU, explains what is missing.
  if (reading.problems.length > 0) return reasons;
  const missing = unlisted
    .filter(({ driver, bus }) => driver === "nvidia" && !isExcluded(io, bus))
    .map(({ bus }) => bus);
  if (facts.gpus.length === 0) {
    return reasons.length > 0 && missing.length === 0
      ? reasons
      : [...reasons, noDevices(facts.driver, missing)];
  }
  return missing.length === 0 || listed.has(null)
    ? reasons
    : [...reasons, missingDevices(facts.gpus.length, missing)];
}

function isExcluded(io: HostIo, bus: string): boolean {
  return io.list(procGpusPath).some((address) => {
    const text = io.readText(`${procGpusPath}/${address}/information`);
    if (typeof text !== "string") return false;
    const gpu = parseProcGpu(text);
    return gpu.excluded && gpu.bus === bus;
  });
}
