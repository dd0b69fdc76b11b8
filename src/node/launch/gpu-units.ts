/** GPU units that a container can get, and their use. A unit is a GPU, an instance of a GPU in MIG mode, or a partition of an AMD GPU. */

import { type GpuVendor, gpuVendors } from "../../lock/requirement.ts";
import type { GpuFacts, HostFacts, MigInstance, VendorFacts } from "../../host/facts.ts";
import { amdGpus } from "./amd-gpus.ts";
import { nvidiaGpus } from "./nvidia-gpus.ts";

type Gpu<Vendor extends GpuVendor> = VendorFacts[Vendor]["gpus"][number];

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

/** How a vendor's GPUs become units, and what tells two of them apart. */
interface Rows<Gpu> {
  readonly parts: (gpu: Gpu) => readonly Part<Gpu>[];
  /** The GPUs that count if nobody names any. */
  readonly counted: (gpus: readonly Gpu[]) => readonly Gpu[];
  /** The GPU with these parts alone. */
  readonly join: (gpu: Gpu, parts: readonly Part<Gpu>[]) => Gpu;
  /** The parts that a list of `--gpus` names. Throws `SELECTION_INVALID`. */
  readonly named: (gpus: readonly Gpu[], list: string) => (part: Part<Gpu>) => boolean;
  readonly unknown: (index: number) => Gpu;
  /** The compute capability or the target: the code that runs on the GPU. */
  readonly code: (gpu: Gpu) => string | null;
  /** Higher is newer. */
  readonly generation: (gpu: Gpu) => number;
  /** Equal where the same code runs equally well. */
  readonly kind: (gpu: Gpu, mig: MigInstance | null) => readonly unknown[];
  /** For people. */
  readonly part: (gpu: Gpu, mig: MigInstance | null) => string | null;
  readonly use: (gpu: Gpu) => GpuFacts["use"];
  /** The GPU without its use. */
  readonly idle: (gpu: Gpu) => Gpu;
  /** Its device file. */
  readonly file: (gpu: Gpu) => string | null;
}

const rows: { readonly [V in GpuVendor]: Rows<Gpu<V>> } = { nvidia: nvidiaGpus, amd: amdGpus };

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
  const gpus = gpusOf(host, vendor);
  const parts = (all ? gpus : rows[vendor].counted(gpus)).flatMap(rows[vendor].parts);
  return parts.map((part) => ({ vendor, ...part, name: `${prefix}${part.name}` }) as GpuUnit);
}

/** The vendor whose GPUs plain numbers name. */
function firstVendor(host: HostFacts): GpuVendor {
  return gpuVendors.find((vendor) => gpusOf(host, vendor).length > 0) ?? gpuVendors[0];
}

function gpusOf<V extends GpuVendor>(host: HostFacts, vendor: V): readonly Gpu<V>[] {
  return (host[vendor]?.gpus ?? []) as readonly Gpu<V>[];
}

export function ofVendor<V extends GpuVendor>(units: readonly GpuUnit[], vendor: V): readonly GpuUnit<V>[] {
  const own: readonly object[] = units.filter((unit) => unit.vendor === vendor);
  return own as readonly GpuUnit<V>[];
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
  const plain = others.length === 0 ? list : rest.length === 0 ? null : rest.join(",");
  const named = [...lists, { vendor: first, list: plain }].flatMap(({ vendor, list: own }) =>
    own === null ? [] : unitsNamed(host, vendor, own),
  );
  return allUnits(host).filter(({ name }) => named.includes(name));
}

function unitsNamed<V extends GpuVendor>(host: HostFacts, vendor: V, list: string): readonly string[] {
  const isNamed = rows[vendor].named(gpusOf(host, vendor), list);
  return ofVendor(allUnits(host), vendor)
    .filter(isNamed)
    .map(({ name }) => name);
}

/** The host as a container with these units sees it. */
export function narrowTo(host: HostFacts, units: readonly GpuUnit[]): HostFacts {
  return withGpus(host, (vendor, gpus) =>
    gpus.flatMap((gpu) => {
      const parts = ofVendor(units, vendor).filter((unit) => unit.gpu.index === gpu.index);
      return parts.length === 0 ? [] : [rows[vendor].join(gpu, parts)];
    }),
  );
}

/** The host without the use of its GPUs, which changes every minute. */
export function withoutUse(host: HostFacts): HostFacts {
  return withGpus(host, (vendor, gpus) => gpus.map(rows[vendor].idle));
}

function withGpus(
  host: HostFacts,
  change: <V extends GpuVendor>(vendor: V, gpus: readonly Gpu<V>[]) => readonly Gpu<V>[],
): HostFacts {
  const changed = gpuVendors.map((vendor) => {
    const facts = host[vendor];
    return facts == null ? {} : { [vendor]: { ...facts, gpus: change(vendor, gpusOf(host, vendor)) } };
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

/** The compute capability or the target; null if unknown. */
export function codeOf<V extends GpuVendor>({ vendor, gpu }: GpuUnit<V>): string | null {
  return rows[vendor].code(gpu);
}

export function generationOf<V extends GpuVendor>({ vendor, gpu }: GpuUnit<V>): number {
  return rows[vendor].generation(gpu);
}

export function fileOf<V extends GpuVendor>({ vendor, gpu }: GpuUnit<V>): string | null {
  return rows[vendor].file(gpu);
}

/** `GPU 0 (NVIDIA H100 80GB HBM3)`, `GPU 0:1 (…, MIG 3g.40gb)`. */
export function describeUnit<V extends GpuVendor>({ vendor, gpu, mig, name }: GpuUnit<V>): string {
  const parts = [gpu.name, rows[vendor].part(gpu, mig)].filter((part) => part !== null);
  return parts.length === 0 ? `GPU ${name}` : `GPU ${name} (${parts.join(", ")})`;
}

/** Units of one kind run the same code equally well. */
export function kindOf<V extends GpuVendor>({ vendor, gpu, mig }: GpuUnit<V>): string {
  return JSON.stringify(rows[vendor].kind(gpu, mig));
}

/** `unknown` may be busy. */
export type GpuUse = "free" | "busy" | "unknown";

/** More is use. Idle cards report 1 to 4 MiB (captured hosts, nvidia-smi 430 to 610); a CUDA context takes several tens. */
const idleMemoryMiB = 16;

/** Counts processes, or where that is impossible (MIG, old nvidia-smi) memory. */
export function useOf<V extends GpuVendor>({ vendor, gpu }: GpuUnit<V>): GpuUse {
  const { processes, memoryMiB } = rows[vendor].use(gpu);
  if (processes !== null) return processes === 0 ? "free" : "busy";
  if (memoryMiB === null) return "unknown";
  return memoryMiB <= idleMemoryMiB ? "free" : "busy";
}

/** `2 processes, 40000 MiB`. */
export function describeUse<V extends GpuVendor>({ vendor, gpu }: GpuUnit<V>): string {
  const { processes, memoryMiB } = rows[vendor].use(gpu);
  const parts = [
    processes === null ? null : `${processes} process${processes === 1 ? "" : "es"}`,
    memoryMiB === null ? null : `${memoryMiB} MiB used`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? "its use is unknown" : parts.join(", ");
}
