/** GPU units that a container can get, and their use. A unit is a GPU, an instance of a GPU in MIG mode, or a partition of an AMD GPU. */

import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import { narrowAmdGpus } from "../../host/amd/amd-visible-devices.ts";
import type { GpuFacts, HostFacts, MigInstance, VendorFacts } from "../../facts/facts.ts";
import { sideOfFacts } from "../../facts/sides.ts";
import { unknownAmdGpu, unknownGpu, unknownUse } from "../../facts/no-facts.ts";
import { narrowGpus } from "../../host/nvidia/visible-devices.ts";
import { judgedGpus } from "../../resolve/host-view.ts";

type Gpu<Vendor extends GpuVendor = GpuVendor> = VendorFacts[Vendor]["gpus"][number];

interface Part<Gpu> {
  /** Its GPU, with no other MIG instance. */
  readonly gpu: Gpu;
  readonly mig: MigInstance | null;
  /** `2`, or `2:0` for the first MIG instance of GPU 2. `amd:2` on a host that also has GPUs of an earlier vendor. */
  readonly name: string;
}

export type GpuUnit<Vendor extends GpuVendor = GpuVendor> = {
  readonly [V in Vendor]: Part<Gpu<V>> & { readonly vendor: V };
}[Vendor];

/** What tells two units apart. */
interface Traits {
  /** The compute capability or the target, which decides about code. */
  readonly code: string | null;
  /** Higher is newer. */
  readonly generation: number;
  /** Equal where the same code runs equally well. */
  readonly kind: readonly unknown[];
  /** The part of a GPU that the unit is, for people. */
  readonly part: string | null;
  readonly use: GpuFacts["use"];
  /** Its device file. */
  readonly file: string | null;
}

interface Row<Gpu> {
  readonly parts: (gpu: Gpu) => readonly Part<Gpu>[];
  /** The GPUs of a list of `--gpus`. Throws `SELECTION_INVALID`. */
  readonly narrow: (gpus: readonly Gpu[], list: string) => readonly Gpu[];
  readonly unknown: (index: number) => Gpu;
  readonly traits: (gpu: Gpu, mig: MigInstance | null) => Traits;
}

const rows: { readonly [V in GpuVendor]: Row<Gpu<V>> } = {
  nvidia: {
    // A GPU in MIG mode is used through its instances only. Every version of nvidia-ctk writes these names into its CDI file.
    parts: (gpu) =>
      gpu.mig?.map((mig, instance) => ({
        gpu: { ...gpu, mig: [mig] },
        mig,
        name: `${gpu.index}:${instance}`,
      })) ?? [{ gpu, mig: null, name: String(gpu.index) }],
    narrow: narrowGpus,
    unknown: unknownGpu,
    traits: ({ compute, name, class: own, memoryMiB, use, index }, mig) => ({
      code: compute,
      generation: Number(compute ?? 0),
      kind: [compute, name, own, memoryMiB, mig?.profile ?? null],
      part: mig === null ? null : `MIG ${mig.profile}`,
      use,
      file: `/dev/nvidia${index}`,
    }),
  },
  amd: {
    parts: (gpu) => [{ gpu, mig: null, name: String(gpu.index) }],
    narrow: narrowAmdGpus,
    unknown: unknownAmdGpu,
    traits: ({ target, sramecc, name, memoryMiB, partition, integrated, render }) => ({
      code: target,
      // Targets have no order: there the memory decides.
      generation: 0,
      kind: [target, sramecc, name, memoryMiB, partition, integrated],
      part: partition,
      // The driver does not tell it.
      use: unknownUse,
      file: render,
    }),
  },
};

export function traitsOf<V extends GpuVendor>({ vendor, gpu, mig }: GpuUnit<V>): Traits {
  return rows[vendor].traits(gpu, mig);
}

/** The units of a host, in the vendors' order. A processor's GPU beside a card of the same vendor is left out: only its name selects it. */
export function unitsOf(host: HostFacts): readonly GpuUnit[] {
  return gpuVendors.flatMap((vendor) => unitsFrom(host, vendor, false));
}

/** {@link unitsOf} with the units that only their name selects. */
export function allUnits(host: HostFacts): readonly GpuUnit[] {
  return gpuVendors.flatMap((vendor) => unitsFrom(host, vendor, true));
}

function unitsFrom<V extends GpuVendor>(host: HostFacts, vendor: V, all: boolean): readonly GpuUnit[] {
  const prefix = vendor === firstVendor(host) ? "" : `${vendor}:`;
  const gpus: readonly Gpu<V>[] = all ? gpusOf(host, vendor) : judgedGpus(vendor, host);
  const parts = gpus.flatMap(rows[vendor].parts);
  return parts.map((part) => ({ vendor, ...part, name: `${prefix}${part.name}` }) as GpuUnit);
}

/** The vendor whose GPUs plain numbers name. */
function firstVendor(host: HostFacts): GpuVendor {
  return gpuVendors.find((vendor) => gpusOf(host, vendor).length > 0) ?? gpuVendors[0];
}

function gpusOf<V extends GpuVendor>(host: HostFacts, vendor: V): readonly Gpu<V>[] {
  return sideOfFacts(vendor, host)?.gpus ?? [];
}

/** The units of a list such as `0,2`. GPUs of later vendors have uuids and names such as `amd:0`. Throws `SELECTION_INVALID`. */
export function namedUnits(host: HostFacts, list: string): readonly GpuUnit[] {
  const first = firstVendor(host);
  const others = gpuVendors.slice(gpuVendors.indexOf(first) + 1);
  const entries = list.split(",").map((entry) => entry.trim());
  const isOf = (vendor: GpuVendor, entry: string) =>
    entry.startsWith(`${vendor}:`) || gpusOf(host, vendor).some(({ uuid }) => uuid === entry);
  const lists = others.map((vendor) => {
    const own = entries.filter((entry) => isOf(vendor, entry));
    return { vendor, list: own.length === 0 ? null : own.join(",").replaceAll(`${vendor}:`, "") };
  });
  const rest = entries.filter((entry) => !others.some((vendor) => isOf(vendor, entry)));
  const fullList = others.length === 0 ? list : rest.length === 0 ? null : rest.join(",");
  const named = [...lists, { vendor: first, list: fullList }].flatMap(({ vendor, list: own }) =>
    own === null ? [] : unitsNamed(host, vendor, own),
  );
  return allUnits(host).filter(({ name }) => named.includes(name));
}

function unitsNamed<V extends GpuVendor>(host: HostFacts, vendor: V, list: string): readonly string[] {
  const gpus = rows[vendor].narrow(gpusOf(host, vendor), list);
  const isIn = (unit: GpuUnit) => (part: Part<Gpu<V>>) =>
    part.gpu.index === unit.gpu.index && part.mig?.uuid === unit.mig?.uuid;
  const parts = gpus.flatMap(rows[vendor].parts);
  return allUnits(host).flatMap((unit) =>
    unit.vendor === vendor && parts.some(isIn(unit)) ? [unit.name] : [],
  );
}

/** The host as a container with these units sees it. */
export function narrowTo(host: HostFacts, units: readonly GpuUnit[]): HostFacts {
  return withGpus(host, (gpu, vendor) => {
    const parts = units.filter((unit) => unit.vendor === vendor && unit.gpu.index === gpu.index);
    const mig = parts.flatMap((unit) => unit.mig ?? []);
    return parts.length === 0 ? [] : [mig.length === 0 ? gpu : { ...gpu, mig }];
  });
}

/** The host without the use of its GPUs, which changes every minute. */
export function withoutUse(host: HostFacts): HostFacts {
  return withGpus(host, (gpu) => ["use" in gpu ? { ...gpu, use: unknownUse } : gpu]);
}

function withGpus(host: HostFacts, change: (gpu: Gpu, vendor: GpuVendor) => readonly object[]): HostFacts {
  const changed = gpuVendors.map((vendor) => {
    const facts = host[vendor];
    const gpus = gpusOf(host, vendor).flatMap((gpu) => change(gpu, vendor));
    return facts == null ? {} : { [vendor]: { ...facts, gpus } };
  });
  return Object.assign({}, host, ...changed);
}

/** GPUs of a node of which nothing is known. */
export function unknownUnits(vendor: GpuVendor, count: number): readonly GpuUnit[] {
  return Array.from({ length: count }, (_, index) => {
    const gpu = rows[vendor].unknown(index);
    return { vendor, gpu, mig: null, name: String(index) } as GpuUnit;
  });
}

/** The uuid, as indexes may change; the index where no uuid is known. */
export function unitId({ gpu, mig }: GpuUnit): string {
  return mig?.uuid ?? gpu.uuid ?? String(gpu.index);
}

/** `GPU 0 (NVIDIA H100 80GB HBM3)`, `GPU 0:1 (…, MIG 3g.40gb)`. */
export function describeUnit(unit: GpuUnit): string {
  const parts = [unit.gpu.name, traitsOf(unit).part].filter((part) => part !== null);
  return parts.length === 0 ? `GPU ${unit.name}` : `GPU ${unit.name} (${parts.join(", ")})`;
}

/** Units of one kind run the same code equally well. */
export function kindOf(unit: GpuUnit): string {
  return JSON.stringify(traitsOf(unit).kind);
}

/** `idle`: no process computes, and something holds memory, as a display does. `unknown` may be busy. */
export type GpuUse = "free" | "idle" | "busy" | "unknown";

/** More is use. Free cards report 1 to 4 MiB (captured hosts, nvidia-smi 430 to 610); a CUDA context takes several tens. */
const freeMemoryMiB = 16;

/** Counts processes, or where that is impossible (MIG, old nvidia-smi) memory. */
export function useOf(unit: GpuUnit): GpuUse {
  const { processes, memoryMiB } = traitsOf(unit).use;
  const isHeld = memoryMiB !== null && memoryMiB > freeMemoryMiB;
  if (processes === null) return memoryMiB === null ? "unknown" : isHeld ? "busy" : "free";
  return processes > 0 ? "busy" : isHeld ? "idle" : "free";
}

/** `free` and `idle` GPUs are handed out. */
export function isTaken(use: GpuUse): use is "busy" | "unknown" {
  return use === "busy" || use === "unknown";
}

export type UseCounts = Readonly<Record<GpuUse, number>>;

/** The GPUs of many hosts; null where the facts tell the use of none. */
export function countUse(hosts: readonly HostFacts[]): UseCounts | null {
  const uses = hosts.flatMap(unitsOf).map(useOf);
  const number = (use: GpuUse) => uses.filter((each) => each === use).length;
  const counts = {
    free: number("free"),
    idle: number("idle"),
    busy: number("busy"),
    unknown: number("unknown"),
  };
  return counts.unknown === uses.length ? null : counts;
}

/** `GPUs: 12 free, 1 idle, 3 busy, 2 of unknown use`. */
export function useWords({ free, idle, busy, unknown }: UseCounts): string {
  const few = (count: number, what: string) => (count === 0 ? "" : `, ${count} ${what}`);
  return `GPUs: ${free} free${few(idle, "idle")}, ${busy} busy${few(unknown, "of unknown use")}`;
}

/** `2 processes, 40000 MiB`. */
export function describeUse(unit: GpuUnit): string {
  const { processes, memoryMiB } = traitsOf(unit).use;
  const parts = [
    processes === null ? null : `${processes} process${processes === 1 ? "" : "es"}`,
    memoryMiB === null ? null : `${memoryMiB} MiB used`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? "its use is not known" : parts.join(", ");
}
