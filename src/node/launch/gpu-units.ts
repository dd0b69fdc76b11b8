/**
 * The units of a host's GPUs that a container can get: a whole GPU, one instance of a GPU in MIG mode, or a partition of an AMD GPU, which is
 * a GPU of its own; and whether somebody uses them.
 */

import { type GpuVendor, vendorsOf } from "../../hardware/requirement.ts";
import type { AmdGpuFacts, GpuFacts, HostFacts, MigInstance } from "../../host/facts.ts";
import type { Requirement } from "../../lock/lock.ts";
import { amdGpusOf } from "../../resolve/amd-view.ts";

export type GpuUnit = NvidiaUnit | AmdUnit;

export interface NvidiaUnit {
  readonly vendor: "nvidia";
  /** Its GPU; of the MIG instances only this one. */
  readonly gpu: GpuFacts;
  readonly mig: MigInstance | null;
  /** `2`, or `2:0` for the first MIG instance of GPU 2: the names that every version of nvidia-ctk writes into its CDI file. */
  readonly name: string;
}

export interface AmdUnit {
  readonly vendor: "amd";
  readonly gpu: AmdGpuFacts;
  readonly mig: null;
  /** `2`; `amd:2` on a host with GPUs of NVIDIA too. */
  readonly name: string;
}

/** The vendor whose GPUs an image takes on the host that it was picked for; null for one without GPU code. */
export function vendorOf(requires: Pick<Requirement, "cuda" | "rocm">): GpuVendor | null {
  return vendorsOf(requires)[0] ?? null;
}

/**
 * All units of a host, in the order of its GPUs, NVIDIA's first. A GPU in MIG mode is used through its instances only, and nobody means the
 * GPU of a processor beside a card of the same vendor unless he names it.
 */
export function unitsOf(host: HostFacts): readonly GpuUnit[] {
  const { judged } = amdGpusOf(host.amd ?? { gpus: [] });
  return allUnits(host).filter((unit) => unit.vendor === "nvidia" || judged.includes(unit.gpu));
}

/** With those that have to be named. */
export function allUnits({ nvidia, amd }: Pick<HostFacts, "nvidia" | "amd">): readonly GpuUnit[] {
  const prefix = (nvidia?.gpus.length ?? 0) > 0 ? "amd:" : "";
  return [
    ...(nvidia?.gpus ?? []).flatMap(nvidiaUnits),
    ...(amd?.gpus ?? []).map(
      (gpu): AmdUnit => ({ vendor: "amd", gpu, mig: null, name: `${prefix}${gpu.index}` }),
    ),
  ];
}

function nvidiaUnits(gpu: GpuFacts): readonly NvidiaUnit[] {
  if (gpu.mig.length === 0) return [{ vendor: "nvidia", gpu, mig: null, name: String(gpu.index) }];
  return gpu.mig.map((mig, instance) => ({
    vendor: "nvidia",
    gpu: { ...gpu, mig: [mig] },
    mig,
    name: `${gpu.index}:${instance}`,
  }));
}

/** The host as a container sees it that is given these units. */
export function narrowTo(host: HostFacts, units: readonly GpuUnit[]): HostFacts {
  const { nvidia, amd } = host;
  const given = (vendor: GpuVendor, index: number) =>
    units.filter((unit) => unit.vendor === vendor && unit.gpu.index === index);
  const gpus = (nvidia?.gpus ?? []).flatMap((gpu) => {
    const mine = given("nvidia", gpu.index);
    if (mine.length === 0) return [];
    return [{ ...gpu, mig: mine.flatMap(({ mig }) => (mig === null ? [] : [mig])) }];
  });
  return {
    ...host,
    ...(nvidia == null ? {} : { nvidia: { ...nvidia, gpus } }),
    ...(amd == null
      ? {}
      : { amd: { ...amd, gpus: amd.gpus.filter(({ index }) => given("amd", index).length > 0) } }),
  };
}

/** The uuid where it is known, as indexes may change; else the index. */
export function unitId({ gpu, mig }: GpuUnit): string {
  return mig?.uuid ?? gpu.uuid ?? String(gpu.index);
}

/** `GPU 0 (NVIDIA H100 80GB HBM3)`, `GPU 0:1 (…, MIG 3g.40gb)`. */
export function describeUnit(unit: GpuUnit): string {
  const { gpu, mig, name } = unit;
  const part = unit.vendor === "amd" ? unit.gpu.partition : null;
  const parts = [gpu.name, mig === null ? null : `MIG ${mig.profile}`, part].filter((part) => part !== null);
  return parts.length === 0 ? `GPU ${name}` : `GPU ${name} (${parts.join(", ")})`;
}

/** Units of one kind run the same code equally well. */
export function kindOf({ vendor, gpu, mig }: GpuUnit): string {
  const { name, memoryMiB } = gpu;
  return JSON.stringify(
    vendor === "nvidia"
      ? [gpu.compute, name, gpu.class, memoryMiB, mig?.profile ?? null]
      : [gpu.target, gpu.sramecc, name, memoryMiB, gpu.partition, gpu.integrated],
  );
}

/** `unknown` may be busy. */
export type GpuUse = "free" | "busy" | "unknown";

/**
 * Memory that an idle driver takes for itself, in MiB. Idle cards report 1 to 4; a CUDA context alone takes several tens.
 * Source: `memory.used` of captured idle hosts (nvidia-smi 430 to 610).
 */
const idleMemoryMiB = 16;

/** By its processes; where they cannot be counted (MIG, old nvidia-smi), by its memory. The driver of AMD tells neither. */
export function useOf({ vendor, gpu }: GpuUnit): GpuUse {
  if (vendor === "amd") return "unknown";
  const { processes, memoryMiB } = gpu.use;
  if (processes !== null) return processes === 0 ? "free" : "busy";
  if (memoryMiB === null) return "unknown";
  return memoryMiB <= idleMemoryMiB ? "free" : "busy";
}

/** `2 processes, 40000 MiB`. */
export function describeUse({ vendor, gpu }: GpuUnit): string {
  const { processes, memoryMiB } = vendor === "amd" ? { processes: null, memoryMiB: null } : gpu.use;
  const parts = [
    processes === null ? null : `${processes} process${processes === 1 ? "" : "es"}`,
    memoryMiB === null ? null : `${memoryMiB} MiB used`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? "its use cannot be told" : parts.join(", ");
}
