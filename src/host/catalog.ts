/** Turns machine types into hosts, for `--catalog` and `--host-type`. */

import { usageError } from "../errors.ts";
import { findMarch, neededFeatures } from "../hardware/cpu-marches.ts";
import { classifyGpu } from "../hardware/gpu-class.ts";
import type { MachineCpuRow } from "../hardware/machine-type-table.ts";
import {
  type MachineCatalog,
  type MachineType,
  machineCatalogs,
  machineTypes,
} from "../hardware/machine-types.ts";
import { didYouMean, suggest } from "../io/suggest.ts";
import { byVendor, type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import { fromCatalogue } from "./complete-hosts.ts";
import { readCpu } from "./cpu/cpu-facts.ts";
import type { CpuFacts, HostFacts, VendorFacts } from "../facts/facts.ts";
import type { NamedHost } from "../facts/named-host.ts";
import { unknownAmdGpu, unknownGpu, unknownHost, unknownNvidia } from "../facts/no-facts.ts";

/**
 * Makes one host for each machine type of the catalogs, and for each named type. The host bears the type's name. The CPU features were
 * captured on the type itself, or, if `sources` says so, on a type with a CPU of the same kind. `problems` names the features that nobody has
 * captured. The driver is unknown.
 *
 * Throws `USAGE` for an unknown catalog or type.
 *
 * @example
 * await catalogHosts({ catalogs: [], types: ["p5.48xlarge"] });
 */
export async function catalogHosts({
  catalogs,
  types,
}: Readonly<Record<"catalogs" | "types", readonly string[]>>): Promise<readonly NamedHost[]> {
  const wanted = new Set(catalogs.map(checkCatalog));
  const known = await machineTypes();
  const named = new Set(types.map((name) => findType(name, known)));
  return known.filter((type) => wanted.has(type.catalog) || named.has(type)).map(hostOf);
}

/** The host of one machine type. Throws `USAGE` for an unknown type. */
export async function machineTypeHost(name: string): Promise<NamedHost> {
  return hostOf(findType(name, await machineTypes()));
}

/** The host of the machine type that a cluster's node is labelled with; null for a type that the catalogue does not have. */
export async function labelledType(name: string | undefined): Promise<NamedHost | null> {
  const found = name === undefined ? undefined : (await machineTypes()).find((type) => type.name === name);
  return found === undefined ? null : hostOf(found);
}

function checkCatalog(name: string): MachineCatalog {
  const found = machineCatalogs.find((each) => each === name);
  if (found !== undefined) return found;
  throw usageError(
    `--catalog ${JSON.stringify(name)} is no catalog`,
    `${didYouMean(suggest(name, machineCatalogs))}the catalogs are ${machineCatalogs.join(", ")}`,
  );
}

/** Azure's names match without their first word, `Standard_`, too. */
function findType(name: string, known: readonly MachineType[]): MachineType {
  const lower = name.toLowerCase();
  const found = known.find((type) =>
    [type.name, type.name.replace(/^Standard_/, "")].some((each) => each.toLowerCase() === lower),
  );
  if (found !== undefined) return found;
  const names = known.map((type) => type.name);
  throw usageError(
    `--host-type ${JSON.stringify(name)} is not in the catalogue of machine types`,
    `${didYouMean(suggest(name, names))}imgmatch hardware machine lists them`,
  );
}

/** Nobody runs containers on an older one (Docker, "Install Docker Engine from binaries": "version 3.10 or higher of the Linux kernel"). */
const oldestKernel = "3.10.0";

function hostOf(type: MachineType): NamedHost {
  const { name, platform } = type;
  const { cpu, source } = cpuOf(type);
  const gpus = byVendor((vendor) => cards[vendor](type));
  const facts: HostFacts = {
    ...unknownHost(platform),
    kernel: oldestKernel,
    cpu,
    ...(gpus as Pick<HostFacts, GpuVendor>),
    problems: cpu.unknown === undefined ? [] : [incomplete(type, cpu.unknown)],
    sources: {
      "cpu.features": source,
      kernel: "the oldest that runs containers",
      ...Object.fromEntries(
        gpuVendors.filter((each) => gpus[each] !== null).map((each) => [`${each}.gpus`, fromCatalogue]),
      ),
    },
  };
  return { name, facts };
}

/** The GPUs of a machine type, if they are the vendor's. No type comes with a driver. */
const cards: { readonly [V in GpuVendor]: (type: MachineType) => VendorFacts[V] | null } = {
  nvidia({ gpu: name, compute = null, target, pci, gpus: length }) {
    if (target !== undefined) return null;
    const own = { name, compute, pci, class: classifyGpu(name) };
    const gpus = Array.from({ length }, (_, index) => ({ ...unknownGpu(index), ...own }));
    return { ...unknownNvidia, gpus, unknown: ["driver"] };
  },
  amd({ gpu: name, target, pci, gpus: length }) {
    if (target === undefined) return null;
    const own = { name, target, pci, integrated: false };
    const gpus = Array.from({ length }, (_, index) => ({ ...unknownAmdGpu(index), ...own }));
    return { driver: null, gpus, unknown: ["driver"] };
  },
};

/** Reads a captured CPU as the probe reads it. */
function cpuOf(type: MachineType): { readonly cpu: CpuFacts; readonly source: string } {
  const { name, platform, cpu: named, capture, alike, baseline } = type;
  const architecture = platform.slice("linux/".length);
  if (capture === null) return uncaptured(named, baseline, architecture);
  const { model, sometimes, on } = capture;
  const { facts } = readCpu({ readText: () => cpuinfoOf(capture, architecture) }, architecture);
  const present = new Set(facts.features);
  const unprinted = neededFeatures(architecture).filter(
    (feature) => !present.has(feature) && sometimes.split(" ").includes(feature),
  );
  const cpu = unprinted.length === 0 ? facts : { ...facts, unknown: unprinted };
  if (alike !== true) return { cpu, source: `lscpu of ${name}` };
  return { cpu: { ...cpu, model: named }, source: `lscpu of ${on} (${model}): ${named} is of its kind` };
}

function cpuinfoOf({ vendor, model, identity, features }: MachineCpuRow, architecture: string): string {
  const [first, second] = identity;
  return architecture === "arm64"
    ? `CPU implementer : ${first}\nCPU part : ${second}\nFeatures : ${features}`
    : `vendor_id : ${vendor}\ncpu family : ${first}\nmodel : ${second}\nmodel name : ${model}\nflags : ${features}`;
}

/** Known are the features of every CPU of the vendor and family, or else the features without which no 64-bit Linux starts. */
function uncaptured(model: string | null, baseline: MachineType["baseline"], architecture: string) {
  const level = baseline?.level ?? (architecture === "amd64" ? "x86-64" : "armv8-a");
  const features = findMarch(level)?.features ?? [];
  const unknown = neededFeatures(architecture).filter((feature) => !features.includes(feature));
  const source = model === null ? "no source names the CPU" : `no capture of ${model} there`;
  const known = baseline === null ? "" : `: ${level}, as every CPU of ${baseline.cpu} here`;
  return { cpu: { vendor: null, model, features, unknown, level }, source: `${source}${known}` };
}

function incomplete({ name, cpu }: MachineType, unknown: readonly string[]): HostFacts["problems"][number] {
  return {
    code: "HOST_TYPE_INCOMPLETE",
    message: `${unknown.length} CPU ${unknown.length === 1 ? "feature" : "features"} of ${name}${cpu === null ? "" : ` (${cpu})`} cannot be proved: no source tells`,
    fix: "run imgmatch probe --json on a machine of the type, and pass the output",
  };
}
