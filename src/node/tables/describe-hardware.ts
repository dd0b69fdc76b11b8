/** Selects the hardware tables, or their rows about one name. */

import { amdGpuTables, rocmTables } from "./describe-amd.ts";
import {
  compareComputeCapability,
  formatComputeCapability,
  parseComputeCapability,
} from "../../hardware/compute-capability.ts";
import { linuxName } from "../../hardware/cpu-features.ts";
import { allMarches, findMarch, type March } from "../../hardware/cpu-marches.ts";
import {
  type CudaToolkit,
  cudaToolkits,
  driverBranches,
  driverFloor,
  findToolkit,
  supportedTargets,
} from "../../hardware/cuda-toolkits.ts";
import { parseDriverVersion } from "../../hardware/driver-version.ts";
import { compatPackages } from "../../hardware/forward-compat.ts";
import { type GpuArchitecture, gpuArchitectures } from "../../hardware/gpu-architectures.ts";
import { findGpuByPci, searchGpus } from "../../hardware/gpu-products.ts";
import { type GpuTarget, parseGpuTarget, targetRunsOn } from "../../hardware/gpu-target.ts";
import { machineTypes } from "../../hardware/machine-types.ts";
import { type ReportTable, reportTable } from "./report-table.ts";
import { hardwareSources } from "../../hardware/sources.ts";
import { tablesDate } from "../../hardware/tables-date.ts";

export const hardwareKinds = ["cuda", "rocm", "gpu", "cpu", "machine"] as const;

export type HardwareKind = (typeof hardwareKinds)[number];

/**
 * The tables of one kind, or of all kinds, with their sources; with a name, only the rows about it. null for an unknown name.
 *
 * @param name `cuda`: a toolkit (`12.8`, `12.8.1`) or a driver (`570.124.06`). `rocm`: a release (`7.2`) or a driver (`30.10`). `gpu`: a
 *   compute capability (`9.0`), a target (`sm_90a`, `gfx942`), a PCI id (`10de:2330`) or a product, also a part of its name (`H100`).
 *   `cpu`: a march (`broadwell`) or a feature (`avx512_vnni`). `machine`: a machine type, also a part of its name (`p5.`), its GPU (`L40S`), or
 *   a catalog (`aws`).
 * @example
 * (await describeHardware("gpu", "H100"))?.tables[0]?.rows[0]; // { name: "NVIDIA H100", compute: "9.0", … }
 */
export async function describeHardware(kind?: HardwareKind, name?: string): Promise<HardwareReport | null> {
  const kinds = kind === undefined ? hardwareKinds : [kind];
  const tables = (await Promise.all(kinds.map((each) => describers[each](name)))).flat();
  if (tables.length === 0) return null;
  const cited = new Set(tables.flatMap((table) => table.rows.flatMap((row) => row.source)));
  const sources = Object.fromEntries([...cited].sort().map((key) => [key, hardwareSources[key]]));
  return { schemaVersion: 1, date: tablesDate, tables, sources };
}

const describers = {
  cuda: describeCuda,
  rocm: rocmTables,
  gpu: describeGpu,
  cpu: describeCpu,
  machine: describeMachine,
} satisfies Record<HardwareKind, (name?: string) => readonly ReportTable[] | Promise<readonly ReportTable[]>>;

/** All marches; one march with its features; or the marches that need a feature, by the name of Linux or of a compiler. */
function describeCpu(name?: string): readonly ReportTable[] {
  const marches = allMarches();
  if (name === undefined) return marchTable(marches);
  const march = findMarch(name);
  if (march !== null) return [...marchTable([march]), ...featureTable(march)];
  const feature = linuxName(name);
  return marchTable(marches.filter((each) => each.features.includes(feature)));
}

function marchTable(marches: readonly March[]): readonly ReportTable[] {
  return reportTable(
    "marches",
    "CPU microarchitectures and levels",
    ["name", "architecture", "vendor", "option", "gcc", "clang", "features", "note"],
    marches.map((march) => ({
      ...march,
      ...march.compiler,
      option: `-${march.option}=${march.compilerName}`,
    })),
  );
}

function featureTable(march: March): readonly ReportTable[] {
  const features = [...new Set([...march.required, ...march.optional])].sort();
  return reportTable(
    "features",
    `Features of ${march.name}`,
    ["feature", "use", "needed"],
    features.map((feature) => ({
      feature,
      use: march.required.includes(feature) ? "emitted by the compiler" : "behind a macro",
      needed: march.features.includes(feature) ? "yes" : "no",
      source: march.source,
    })),
  );
}

/** All tables, or those rows that a toolkit (`12.8`, `12.8.1`) or a driver (`570.124.06`, `570`) selects. */
function describeCuda(name?: string): readonly ReportTable[] {
  const isNamed = (row: CudaToolkit) => [undefined, row.release, row.printedAs, row.minor].includes(name);
  const listed = cudaToolkits.filter(isNamed);
  const unlisted = name === undefined || listed.length > 0 ? null : findToolkit(name);
  const toolkits = unlisted === null ? listed : [unlisted];
  const minor = name && (findToolkit(name)?.minor ?? name);
  const branch = toolkits.length > 0 ? undefined : parseDriverVersion(name ?? "")?.parts[0];
  const branches = driverBranches.filter(
    (row) => minor === undefined || row.cuda === minor || row.branch === branch,
  );
  const packages = compatPackages().filter((row) => minor === undefined || row.cuda === minor);
  return [
    ...reportTable(
      "toolkits",
      "CUDA toolkits",
      ["release", "stage", "floor", "minimumDriver", "bundledDriver", "targets", "note"],
      toolkits.map(toolkitRow),
    ),
    ...reportTable("branches", "CUDA version by driver branch", ["branch", "cuda", "note"], branches),
    ...reportTable(
      "packages",
      "Forward-compatibility packages",
      ["package", "cuda", "libcuda", "branches", "enforced"],
      packages,
    ),
  ];
}

function toolkitRow(toolkit: CudaToolkit) {
  const floor = driverFloor(toolkit);
  const targets = supportedTargets(toolkit.minor);
  return {
    ...toolkit,
    floor: floor?.minimum ?? null,
    targets: targets === null ? null : [...targets.sm.map(String), ...targets.specific],
    source: [...new Set([...toolkit.source, ...(floor?.source ?? []), ...(targets?.source ?? [])])],
  };
}

/** All architectures, or what a compute capability, a target, a PCI id or a product selects. */
async function describeGpu(name?: string): Promise<readonly ReportTable[]> {
  if (name === undefined) return [...architectureTable(gpuArchitectures), ...amdGpuTables()];
  const compute = parseComputeCapability(name);
  if (compute !== null)
    return architectureTable(
      gpuArchitectures.filter((row) => compareComputeCapability(row.compute, compute) === 0),
    );
  const target = parseGpuTarget(name);
  if (target !== null) return targetTable(target);
  return [...(await describeProducts(name)), ...amdGpuTables(name)];
}

async function describeProducts(name: string): Promise<readonly ReportTable[]> {
  const byPci = await findGpuByPci(name);
  const products = byPci === null ? await searchGpus(name) : [byPci];
  const computes = new Set(products.map((product) => product.compute));
  return [
    ...reportTable("products", "GPU products", ["name", "compute", "class", "chip"], products),
    ...architectureTable(
      gpuArchitectures.filter((row) => computes.has(formatComputeCapability(row.compute))),
    ),
  ];
}

function architectureTable(architectures: readonly GpuArchitecture[]): readonly ReportTable[] {
  return reportTable(
    "architectures",
    "GPU architectures",
    [
      ...(["compute", "name", "platform", "chips", "toolkits"] as const),
      ...(["firstDriverBranch", "lastDriverBranch", "openModule", "specific", "note"] as const),
    ],
    architectures.map((row) => ({
      ...row,
      compute: formatComputeCapability(row.compute),
      toolkits: `${row.firstToolkit} …${row.lastToolkit === null ? "" : ` ${row.lastToolkit}`}`,
      specific: Object.entries(row.specific).map(([target, toolkit]) => `${target} (${toolkit})`),
    })),
  );
}

/** The devices that run code of the target. */
function targetTable(target: GpuTarget): readonly ReportTable[] {
  const runs = gpuArchitectures.filter((row) => targetRunsOn(target, row.compute));
  return reportTable(
    "devices",
    "Devices that run this code",
    ["compute", "name", "platform"],
    runs.map((row) => ({
      compute: formatComputeCapability(row.compute),
      name: row.name,
      platform: row.platform,
      source: target.suffix === "" ? (["PGBIN", "NVCC130"] as const) : (["PG", "NVCC130"] as const),
    })),
  );
}

/** All machine types, or the types of a catalog (`aws`), with a text in the name (`p5.`), or with a GPU (`L40S`, `h100 80gb`). */
async function describeMachine(name?: string): Promise<readonly ReportTable[]> {
  const known = await machineTypes();
  const wanted = name?.toLowerCase();
  const ofCatalog = known.filter(({ catalog }) => catalog === wanted);
  const isNamed = ({ name: type, gpu }: (typeof known)[number]) =>
    wanted === undefined || type.toLowerCase().includes(wanted) || hasWords(gpu, wanted);
  const named = ofCatalog.length > 0 ? ofCatalog : known.filter(isNamed);
  return reportTable(
    "machines",
    "Machine types",
    ["name", "catalog", "platform", "gpus", "compute", "cpu", "cpuFeatures"],
    named.map(({ catalog, name: type, platform, gpu, gpus, cpu, capture, alike, source, ...code }) => ({
      name: type,
      catalog,
      platform,
      gpus: `${gpus} ${gpu}`,
      compute: code.compute ?? code.target ?? null,
      cpu: cpu ?? capture?.model ?? null,
      cpuFeatures: capture === null ? "unknown" : alike === true ? `as on ${capture.on}` : "captured",
      source,
    })),
  );
}

/** Whole words: an L40S is no L4. */
function hasWords(name: string, words: string): boolean {
  return ` ${name
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .join(" ")} `.includes(` ${words} `);
}

export interface HardwareReport {
  readonly schemaVersion: 1;
  /** The day on which the tables were last held against their sources. */
  readonly date: string;
  readonly tables: readonly ReportTable[];
  /** Only the sources that the rows cite, by key. */
  readonly sources: Readonly<Record<string, string>>;
}
