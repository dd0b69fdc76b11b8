/** The NVIDIA part of the facts: best source first, each state named, nothing spawned while NVML has the answer. */

import { completeGpus } from "./complete-gpus.ts";
import type { HostIo } from "../host-io.ts";
import { gpuSources, type NvidiaResult, nvidiaFacts } from "./nvidia-facts.ts";
import { type PciGpu, pciPath } from "../pci.ts";
import * as problem from "../host-problems.ts";
import { fromPci } from "./proc-reading.ts";
import { readDriver, tegraReading } from "./read-driver.ts";
import { readSurroundings, type Surroundings } from "./surroundings.ts";

/** `facts` is null when there is neither an NVIDIA device nor a driver. */
export async function readNvidia(io: HostIo, pci: readonly PciGpu[]): Promise<NvidiaResult> {
  const around = readSurroundings(io, pci);
  if (around === null) return { facts: null, problems: [], sources: {} };
  if (around.driver) return nvidiaFacts(io, around, await readDriver(io, around));
  return around.tegra === null ? withoutDriver(around) : nvidiaFacts(io, around, tegraReading(around.tegra));
}

/** GPUs that no NVIDIA driver holds: what they are, and who holds them instead. */
async function withoutDriver({ pci, problems }: Surroundings): Promise<NvidiaResult> {
  const ours = pci.filter(({ driver }) => driver === null || driver === "nouveau" || driver === "nvidia");
  const others = pci.filter((gpu) => !ours.includes(gpu));
  const buses = (gpus: readonly PciGpu[]) => gpus.map(({ bus }) => bus);
  const held = ours.filter(({ driver }) => driver === "nouveau");
  const free = ours.filter(({ driver }) => driver !== "nouveau");
  const [other] = others;
  const told = [
    ...problems,
    ...(held.length > 0 ? [problem.nouveau(buses(held))] : []),
    ...(free.length > 0 ? [problem.noDriver(buses(free))] : []),
    ...(ours.length === 0 && other !== undefined
      ? [problem.otherDriver(buses(others), other.driver ?? "another driver")]
      : []),
  ];
  const completed = await completeGpus(ours.map(fromPci), pci, null);
  return {
    facts: { driver: null, module: null, library: null, cuda: null, gpus: completed.gpus },
    problems: [...told, ...completed.problems],
    sources: gpuSources(pciPath, completed),
  };
}
