/**
 * The units of a host's GPUs that a container can get: a whole GPU, or one instance of a GPU in MIG mode; and whether somebody uses them.
 */

import type { GpuFacts, HostFacts, MigInstance } from "../../host/facts.ts";

export interface GpuUnit {
  /** Its GPU; of the MIG instances only this one. */
  readonly gpu: GpuFacts;
  readonly mig: MigInstance | null;
  /** `2`, or `2:0` for the first MIG instance of GPU 2: the names that every version of nvidia-ctk writes into its CDI file. */
  readonly name: string;
}

/** All units of a host, in the order of its GPUs. A GPU in MIG mode is used through its instances only. */
export function unitsOf(host: HostFacts): readonly GpuUnit[] {
  return (host.nvidia?.gpus ?? []).flatMap((gpu): GpuUnit[] =>
    gpu.mig.length === 0
      ? [{ gpu, mig: null, name: String(gpu.index) }]
      : gpu.mig.map((mig, instance) => ({
          gpu: { ...gpu, mig: [mig] },
          mig,
          name: `${gpu.index}:${instance}`,
        })),
  );
}

/** The host as a container sees it that is given these units. */
export function narrowTo(host: HostFacts, units: readonly GpuUnit[]): HostFacts {
  if (host.nvidia == null) return host;
  const gpus = host.nvidia.gpus.flatMap((gpu) => {
    const mine = units.filter((unit) => unit.gpu.index === gpu.index);
    if (mine.length === 0) return [];
    return [{ ...gpu, mig: mine.flatMap(({ mig }) => (mig === null ? [] : [mig])) }];
  });
  return { ...host, nvidia: { ...host.nvidia, gpus } };
}

/** The uuid where it is known, as indexes may change; else the index. */
export function unitId({ gpu, mig }: GpuUnit): string {
  return mig?.uuid ?? gpu.uuid ?? String(gpu.index);
}

/** `GPU 0 (NVIDIA H100 80GB HBM3)`, `GPU 0:1 (…, MIG 3g.40gb)`. */
export function describeUnit({ gpu, mig, name }: GpuUnit): string {
  const parts = [gpu.name, mig === null ? null : `MIG ${mig.profile}`].filter((part) => part !== null);
  return parts.length === 0 ? `GPU ${name}` : `GPU ${name} (${parts.join(", ")})`;
}

/** Units of one kind run the same code equally well. */
export function kindOf({ gpu, mig }: GpuUnit): string {
  return JSON.stringify([gpu.compute, gpu.name, gpu.class, gpu.memoryMiB, mig?.profile ?? null]);
}

/** `unknown` may be busy. */
export type GpuUse = "free" | "busy" | "unknown";

/**
 * Memory that an idle driver takes for itself, in MiB. Idle cards report 1 to 4; a CUDA context alone takes several tens.
 * Source: `memory.used` of captured idle hosts (nvidia-smi 430 to 610).
 */
const idleMemoryMiB = 16;

/** By its processes; where they cannot be counted (MIG, old nvidia-smi), by its memory. */
export function useOf({ use: { processes, memoryMiB } }: Pick<GpuFacts, "use">): GpuUse {
  if (processes !== null) return processes === 0 ? "free" : "busy";
  if (memoryMiB === null) return "unknown";
  return memoryMiB <= idleMemoryMiB ? "free" : "busy";
}

/** `2 processes, 40000 MiB`. */
export function describeUse({ use: { processes, memoryMiB } }: Pick<GpuFacts, "use">): string {
  const parts = [
    processes === null ? null : `${processes} process${processes === 1 ? "" : "es"}`,
    memoryMiB === null ? null : `${memoryMiB} MiB used`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? "its use cannot be told" : parts.join(", ");
}
