/** Asks the driver through the best source that answers, and names the fault of a silent one. */

import { cudaOfDriver } from "../../hardware/cuda-toolkits.ts";
import type { HostProblem } from "../../facts/facts.ts";
import { wslDrivers, wslFiles, wslLibraries } from "../container-runtime.ts";
import type { HostIo } from "../host-io.ts";
import * as problem from "../../facts/host-problems.ts";
import { unknownGpu } from "../../facts/no-facts.ts";
import { completeGpus } from "./complete-gpus.ts";
import { controlNode, isRefused, whyNoCards } from "./device-nodes.ts";
import { meaningOf } from "./evidence.ts";
import type { NvidiaReading } from "./nvidia-reading.ts";
import { interpretNvml } from "./nvml.ts";
import { type NvmlReading, nvmlCodes, nvmlMeaning } from "./nvml-reading.ts";
import { hasMigInstances, readProcNvidia } from "./proc-reading.ts";
import { mayLackLibcuda, nvmlLibraries, type Surroundings, type Tegra } from "./surroundings.ts";

/**
 * Asks NVML. Else the kernel's files answer where they tell enough, with the fault of NVML, and else nvidia-smi. null on a WSL2 with nothing of
 * NVIDIA.
 */
export async function readDriver(io: HostIo, around: Surroundings): Promise<NvidiaReading | null> {
  const { module, pci, pairs, tegra, wsl, container, control } = around;
  const driver = module?.version ?? null;
  if (container && !control && !wsl && tegra === null) {
    const problems = [problem.containerWithoutDevices(driver)];
    return { source: "/dev", driver, library: null, cuda: null, gpus: [], problems };
  }
  const nvml = await io.readNvml(nvmlLibraries, pairs);
  const proc = tegraFallback(readProcNvidia(io, driver, pci), tegra);
  const procWith = (...problems: readonly HostProblem[]) => ({
    ...proc,
    problems: [...proc.problems, ...problems],
  });
  /** A driver lists no card that the asker may not open. */
  const judged = (reading: NvidiaReading): NvidiaReading => {
    const why = reading.gpus?.length === 0 && !wsl && tegra === null ? whyNoCards(io) : null;
    if (why === null) return reading;
    return "refused" in why
      ? procWith(problem.noPermission(why.refused.join(", ")))
      : { ...reading, problems: [problem.noneGiven(why.absent)] };
  };
  if (nvml !== null && nvml.init === nvmlCodes.success) {
    const reading = interpretNvml(nvml);
    if (reading.gpus !== null) return judged(withLoader(io, nvml, reading));
  }
  const isForeign = wsl && !isNvidiaWsl(io, around);
  if (nvml !== null && !isMissingLibrary(nvml))
    return isForeign ? null : procWith(nvmlProblem(io, nvml, around));
  // The old Jetson stack has no nvidia-smi.
  if (module !== null && module.l4t !== null) return proc;
  // Files show neither a lost GPU nor a driver that hangs. So nvidia-smi runs once if nothing here can call NVML.
  if (nvml !== null && (await isEnough(io, proc, around))) return procWith(...mismatch(around));
  // Most machines answer earlier and need not load this.
  const { readNvidiaSmi } = await import("./run-nvidia-smi.ts");
  const smi = await readNvidiaSmi(io, around);
  if (isForeign && !smi?.gpus?.length) return null;
  if (smi === null) {
    const silent = wsl ? [problem.nvmlFailed("neither libnvidia-ml nor nvidia-smi is there", false)] : [];
    return procWith(...mismatch(around), ...silent);
  }
  return smi.gpus === null ? procWith(...smi.problems) : judged(smi);
}

/** NVML asks the loader for libcuda. An NVML that the loader itself does not find may lie beside a libcuda that the loader does not find. */
function withLoader(io: HostIo, { library }: NvmlReading, reading: NvidiaReading): NvidiaReading {
  return library === nvmlLibraries[0] || mayLackLibcuda(io) ? reading : { ...reading, lacksCuda: false };
}

/**
 * Every GPU of Windows gives WSL2 /dev/dxg, and any distribution may have NVIDIA's packages for Linux. A container gets the Windows driver's
 * files where Windows keeps them (nvidia-container-toolkit, pkg/nvcdi/driver-wsl.go).
 */
function isNvidiaWsl(io: HostIo, { module, control }: Surroundings): boolean {
  const stores = io.list(wslDrivers).map((name) => `${wslDrivers}/${name}`);
  const files = [wslLibraries, ...stores].flatMap((folder) => wslFiles.map((name) => `${folder}/${name}`));
  return module !== null || control || files.some((path) => io.exists(path));
}

function isMissingLibrary({ init }: NvmlReading): boolean {
  return meaningOf("nvmlInit", init) === "silent";
}

function nvmlProblem(
  io: HostIo,
  { init }: NvmlReading,
  { module, libraries, container }: Surroundings,
): HostProblem {
  const driver = module?.version ?? null;
  const means = meaningOf("nvmlInit", init);
  if (means === "HOST_DRIVER_LIBRARY_MISMATCH") {
    return problem.libraryMismatch(
      driver,
      libraries.find(({ version }) => version !== driver)?.version ?? null,
    );
  }
  if (means === "HOST_GPU_LOST") return problem.gpuLost("(NVML does not say which)");
  if (means === "HOST_NO_PERMISSION" || isRefused(io, controlNode)) return problem.noPermission(controlNode);
  return problem.nvmlFailed(nvmlMeaning(init === nvmlCodes.success ? nvmlCodes.unknown : init), container);
}

/** True if `/proc` and `/sys` tell everything that a decision needs, so that no program need start. */
async function isEnough(
  io: HostIo,
  proc: NvidiaReading,
  { pci, tegra, wsl }: Surroundings,
): Promise<boolean> {
  if (wsl || proc.driver === null || proc.gpus === null || proc.gpus.length === 0) return false;
  if (cudaOfDriver(proc.driver) === null || hasMigInstances(io)) return false;
  const { gpus } = await completeGpus(proc.gpus, pci, tegra);
  return gpus.every(({ compute }) => compute !== null);
}

/** The mismatch that NVML would report: no library on disk fits the loaded module. */
function mismatch({ module, libraries }: Surroundings): readonly HostProblem[] {
  const driver = module?.version ?? null;
  const [first] = libraries;
  if (driver === null || first === undefined || libraries.some(({ version }) => version === driver))
    return [];
  return [problem.libraryMismatch(driver, first.version)];
}

/** Reads a Tegra by its chip alone. */
export function tegraReading(tegra: Tegra): NvidiaReading {
  const gpus = tegra.chip === null ? null : [unknownGpu(0)];
  return { source: "/proc/device-tree", driver: null, library: null, cuda: null, gpus, problems: [] };
}

function tegraFallback(reading: NvidiaReading, tegra: Tegra | null): NvidiaReading {
  if (tegra === null || reading.gpus !== null) return reading;
  return { ...tegraReading(tegra), driver: reading.driver, problems: reading.problems };
}
