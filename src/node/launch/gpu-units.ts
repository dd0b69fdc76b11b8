/** GPU units that a container can get, and their use. A unit is a GPU, an instance of a GPU in MIG mode, or a partition of an AMD GPU. */

import { type GpuVendor, type Requirement, vendorsOf } from "../../lock/requirement.ts";
import type { AmdGpuFacts, GpuFacts, HostFacts, MigInstance } from "../../host/facts.ts";
import { amdGpusOf } from "../../resolve/amd-view.ts";

export type GpuUnit = NvidiaUnit | AmdUnit;

export interface NvidiaUnit {
  readonly vendor: "nvidia";
  /** Its GPU, with no other MIG instance. */
  readonly gpu: GpuFacts;
  readonly mig: MigInstance | null;
  /** `2`, or `2:0` for the first MIG instance of GPU 2. Every version of nvidia-ctk writes these names into its CDI file. */
  readonly name: string;
}

export interface AmdUnit {
  readonly vendor: "amd";
  readonly gpu: AmdGpuFacts;
  readonly mig: null;
  /** `2`, or `amd:2` on a host that also has GPUs of NVIDIA. */
  readonly name: string;
}

/** The vendor whose GPUs an image uses; null for one without GPU code. */
export function vendorOf(requires: Pick<Requirement, "cuda" | "rocm">): GpuVendor | null {
  return vendorsOf(requires)[0] ?? null;
}

/** The units of a host, NVIDIA's first. A processor's GPU beside a card of the same vendor is left out: only its name selects it. */
export function unitsOf(host: HostFacts): readonly GpuUnit[] {
  const { judged } = amdGpusOf(host.amd ?? { gpus: [] });
  return allUnits(host).filter((unit) => unit.vendor === "nvidia" || judged.includes(unit.gpu));
}

/** {@link unitsOf} with the units that only their name selects. */
export function allUnits({ nvidia, amd }: Pick<HostFacts, "nvidia" | "amd">): readonly GpuUnit[] {
  const prefix = (nvidia?.gpus.length ?? 0) > 0 ? "amd:" : "";
  return [
    ...(nvidia?.gpus ?? []).flatMap(nvidiaUnits),
    ...(amd?.gpus ?? []).map(
      (gpu): AmdUnit => ({ vendor: "amd", gpu, mig: null, name: `${prefix}${gpu.index}` }),
    ),
  ];
}

/** A GPU in MIG mode is used through its instances only. */
function nvidiaUnits(gpu: GpuFacts): readonly NvidiaUnit[] {
  if (gpu.mig == null) return [{ vendor: "nvidia", gpu, mig: null, name: String(gpu.index) }];
  return gpu.mig.map((mig, instance) => ({
    vendor: "nvidia",
    gpu: { ...gpu, mig: [mig] },
    mig,
    name: `${gpu.index}:${instance}`,
  }));
}

/** The host as a container with these units sees it. */
export function narrowTo(host: HostFacts, units: readonly GpuUnit[]): HostFacts {
  const { nvidia, amd } = host;
  const given = (vendor: GpuVendor, index: number) =>
    units.filter((unit) => unit.vendor === vendor && unit.gpu.index === index);
  const gpus = (nvidia?.gpus ?? []).flatMap((gpu) => {
    const unitsOfGpu = given("nvidia", gpu.index);
    if (unitsOfGpu.length === 0) return [];
    return [
      { ...gpu, ...(gpu.mig && { mig: unitsOfGpu.flatMap(({ mig }) => (mig === null ? [] : [mig])) }) },
    ];
  });
  return {
    ...host,
    ...(nvidia == null ? {} : { nvidia: { ...nvidia, gpus } }),
    ...(amd == null
      ? {}
      : { amd: { ...amd, gpus: amd.gpus.filter(({ index }) => given("amd", index).length > 0) } }),
  };
}

/** The uuid, as indexes may change; the index where no uuid is known. */
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

/** More is use. Idle cards report 1 to 4 MiB (captured hosts, nvidia-smi 430 to 610); a CUDA context takes several tens. */
const idleMemoryMiB = 16;

/** Counts processes, or where that is impossible (MIG, old nvidia-smi) memory. AMD's driver tells neither. */
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
  return parts.length === 0 ? "its use is unknown" : parts.join(", ");
}
