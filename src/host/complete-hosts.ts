/** Adds to hosts the facts that the user gives: `--no-gpu` and `--driver`. */

import { usageError } from "../errors.ts";
import { cudaOfDriver } from "../hardware/cuda-toolkits.ts";
import { type FactForm, factGrammar } from "../facts/fact-grammar.ts";
import { byVendor, type GpuVendor, gpuVendors, vendorNames } from "../hardware/gpu-vendors.ts";
import { type HostFacts, type HostProblem, openGpuFacts, type VendorFacts } from "../facts/facts.ts";
import { sideOfFacts } from "../facts/sides.ts";
import type { NamedHost } from "../facts/named-host.ts";
import { unknownNvidia } from "../facts/no-facts.ts";

/** Facts for hosts whose own facts leave them open. */
export interface ToldOfHost {
  /** false: a host has no GPU unless its facts name one. */
  readonly gpu?: boolean;
  /** The drivers of hosts whose facts name none, such as machine types: `580.95.05`, or one of each vendor, `amd=6.14.14`. */
  readonly driver?: readonly string[];
}

/** A driver as the user writes it; of any vendor whose drivers have such versions where none is named. */
interface ToldDriver {
  readonly text: string;
  readonly vendors: readonly GpuVendor[];
  readonly version: string;
}

/**
 * Fills the facts that hosts leave open; changes no fact. Throws `USAGE` for a malformed driver, for two of one vendor, and where every host has
 * its driver.
 */
export function completeHosts(
  hosts: readonly NamedHost[],
  { gpu = true, driver = [] }: ToldOfHost,
): readonly NamedHost[] {
  const known = gpu ? hosts : hosts.map((host) => ({ ...host, facts: withoutGpu(host.facts) }));
  const told = driver.map(readDriver);
  const named = told.flatMap(({ vendors }) => vendors);
  const twice = named.find((vendor, place) => named.indexOf(vendor) < place);
  if (twice !== undefined)
    throw usageError(
      `--driver names two drivers of ${vendorNames[twice]}`,
      `leave one of them out, or name the vendor of each: ${flagsOf(gpuVendors)}`,
    );
  for (const each of told) refuseUnasked(known, each, told.length > 1);
  return known.map((host) => ({ ...host, facts: told.reduce(withDriver, host.facts) }));
}

/** Throws `USAGE` for catalogue hosts with GPUs of these vendors and no driver. The vendors are those whose images are judged. */
export function requireDrivers(hosts: readonly NamedHost[], vendors: readonly GpuVendor[]): void {
  const isLacking = (vendor: GpuVendor) =>
    hosts.some(({ facts }) => facts.sources[`${vendor}.gpus`] === fromCatalogue && isOpen(vendor, facts));
  const lacking = gpuVendors.filter((vendor) => vendors.includes(vendor) && isLacking(vendor));
  if (lacking.length === 0) return;
  throw usageError(
    `no machine type comes with a driver, and images for GPUs of ${lacking.map((vendor) => vendorNames[vendor]).join(" and ")} are judged`,
    `name the driver that the hosts will have: ${flagsOf(lacking)}`,
  );
}

/** The source of a machine type's GPUs. */
export const fromCatalogue = "catalogue";

function flagsOf(vendors: readonly GpuVendor[]): string {
  return vendors.map((vendor) => `--driver ${vendor}=${drivers[vendor].example}`).join(" ");
}

function readDriver(text: string): ToldDriver {
  const [, name, version = text] = /^([^=]*)=(.*)$/.exec(text) ?? [];
  const vendor = gpuVendors.find((each) => each === name);
  const flag = `--driver ${JSON.stringify(text)}`;
  if (name !== undefined && vendor === undefined)
    throw usageError(`${flag} names no vendor of drivers`, `write ${flagsOf(gpuVendors)}`);
  const vendors = vendor === undefined ? gpuVendors : [vendor];
  const fitting = vendors.filter(
    (each) => drivers[each].versions.test(version) && drivers[each].grammar.test(version),
  );
  if (fitting.length === 0)
    throw usageError(
      `${flag} is no version of a driver${vendor === undefined ? "" : ` of ${vendorNames[vendor]}`}`,
      `write ${flagsOf(vendors)}`,
    );
  return { text, vendors: fitting, version };
}

/** Of several drivers each is for the hosts with GPUs of its vendor, perhaps for none. */
function refuseUnasked(hosts: readonly NamedHost[], told: ToldDriver, isOneOfMany: boolean): void {
  const against = hosts.map(({ facts }) => speaksAgainst(facts, told));
  const has = ({ facts }: NamedHost) => told.vendors.some((vendor) => facts[vendor] != null);
  const first = against.findIndex(
    (why, place) => why !== null && (!isOneOfMany || has(hosts[place] as NamedHost)),
  );
  if (first < 0 || against.includes(null)) return;
  throw usageError(
    `--driver is for hosts whose facts name none: ${hosts[first]?.name} has ${against[first]}`,
    "leave it out; imgmatch cover --what-if driver=VERSION shows the effect of another one",
  );
}

function withoutGpu(facts: HostFacts): HostFacts {
  return { ...facts, ...(byVendor((vendor) => facts[vendor] ?? null) as Pick<HostFacts, GpuVendor>) };
}

/** The fact that contradicts this driver; null if none does. */
function speaksAgainst(facts: HostFacts, told: ToldDriver): string | null {
  if (openVendor(facts, told) !== null) return null;
  const own = gpuVendors.flatMap((vendor) => facts[vendor]?.driver ?? []);
  if (own.includes(told.version)) return null;
  if (own[0] !== undefined) return `driver ${own[0]}`;
  const there = gpuVendors.find((vendor) => facts[vendor] != null);
  if (there === undefined)
    return `neither an ${told.vendors.map((vendor) => vendorNames[vendor]).join(" or ")} GPU nor a driver`;
  const name = vendorNames[there];
  return isOpen(there, facts)
    ? `an ${name} GPU, whose drivers have other versions`
    : `the kernel's driver of ${name}, which has no version`;
}

/** The driver of a vendor, as the user tells it. */
const drivers: {
  readonly [V in GpuVendor]: {
    /** The versions of one vendor's drivers are none of another's. */
    readonly versions: RegExp;
    readonly grammar: FactForm;
    readonly example: string;
    isOpen(side: VendorFacts[V] | null | undefined): boolean;
    tell(side: VendorFacts[V] | null | undefined, driver: string): VendorFacts[V];
    readonly cures: HostProblem["code"];
  };
} = {
  nvidia: {
    versions: /^\d\d/,
    grammar: factGrammar.driver,
    example: "580.95.05",
    isOpen: (side) => side === undefined || side?.driver === null,
    tell: (side, driver) => {
      const facts = side ?? { ...unknownNvidia, unknown: openGpuFacts };
      return { ...facts, driver, cuda: facts.cuda ?? cudaOfDriver(driver) };
    },
    cures: "HOST_NO_DRIVER",
  },
  amd: {
    // Of the module, as /sys/module/amdgpu/version has it.
    versions: /^\d\./,
    grammar: factGrammar.amdDriver,
    example: "6.14.14",
    // The kernel's own driver has no version: that is known.
    isOpen: (side) => side?.unknown?.includes("driver") === true,
    tell: (side, driver) => ({ gpus: [], ...side, driver }),
    cures: "HOST_AMD_NO_DRIVER",
  },
};

/** The vendor whose driver a host leaves open: one with GPUs before one without. */
function openVendor(facts: HostFacts, { vendors }: ToldDriver): GpuVendor | null {
  const unknown = vendors.filter((vendor) => isOpen(vendor, facts));
  return unknown.find((vendor) => (facts[vendor]?.gpus.length ?? 0) > 0) ?? unknown[0] ?? null;
}

function isOpen<V extends GpuVendor>(vendor: V, facts: HostFacts): boolean {
  return drivers[vendor].isOpen(sideOfFacts(vendor, facts));
}

function tell<V extends GpuVendor>(vendor: V, facts: HostFacts, driver: string) {
  const told = drivers[vendor].tell(sideOfFacts(vendor, facts), driver);
  const { unknown = [], ...rest } = told as VendorFacts[GpuVendor];
  const otherUnknown = unknown.filter((fact) => fact !== "driver");
  return { ...rest, ...(otherUnknown.length === 0 ? {} : { unknown: otherUnknown }) };
}

function withDriver(facts: HostFacts, told: ToldDriver): HostFacts {
  const vendor = openVendor(facts, told);
  if (vendor === null) return facts;
  return {
    ...facts,
    [vendor]: tell(vendor, facts, told.version),
    problems: facts.problems.filter(({ code }) => code !== drivers[vendor].cures),
    sources: { ...facts.sources, [`${vendor}.driver`]: "--driver" },
  };
}
