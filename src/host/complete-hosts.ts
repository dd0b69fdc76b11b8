/** Adds to hosts the facts that the user gives: `--no-gpu` and `--driver`. */

import { usageError } from "../errors.ts";
import { cudaOfDriver } from "../hardware/cuda-toolkits.ts";
import { factGrammar } from "../facts/fact-grammar.ts";
import { byVendor, type GpuVendor, gpuVendors, vendorNames } from "../hardware/gpu-vendors.ts";
import { type HostFacts, type HostProblem, openGpuFacts, type VendorFacts } from "../facts/facts.ts";
import { sideOfFacts } from "../facts/sides.ts";
import type { NamedHost } from "../facts/named-host.ts";
import { unknownNvidia } from "../facts/no-facts.ts";

/** Facts for hosts whose own facts leave them open. */
export interface ToldOfHost {
  /** false: a host has no GPU unless its facts name one. */
  readonly gpu?: boolean;
  /** The driver of hosts whose facts name none, such as machine types. */
  readonly driver?: string;
}

/**
 * Fills the facts that hosts leave open; changes no fact. Throws `USAGE` for a malformed driver, and for one that no host lacks.
 */
export function completeHosts(
  hosts: readonly NamedHost[],
  { gpu = true, driver }: ToldOfHost,
): readonly NamedHost[] {
  const known = gpu ? hosts : hosts.map((host) => ({ ...host, facts: withoutGpu(host.facts) }));
  if (driver === undefined) return known;
  if (!factGrammar.amdDriver.test(driver))
    throw usageError(
      `--driver ${JSON.stringify(driver)} is no version of a driver`,
      "write --driver 580.95.05",
    );
  const against = known.map(({ facts }) => speaksAgainst(facts, driver));
  const [first] = against;
  if (first != null && !against.includes(null))
    throw usageError(
      `--driver is for hosts whose facts name none: ${known[0]?.name} has ${first}`,
      "leave it out; imgmatch cover --what-if driver=VERSION shows the effect of another one",
    );
  return known.map((host) => ({ ...host, facts: withDriver(host.facts, driver) }));
}

function withoutGpu(facts: HostFacts): HostFacts {
  return { ...facts, ...(byVendor((vendor) => facts[vendor] ?? null) as Pick<HostFacts, GpuVendor>) };
}

/** The fact that contradicts this driver; null if none does. */
function speaksAgainst(facts: HostFacts, driver: string): string | null {
  if (openVendor(facts, driver) !== null) return null;
  const own = gpuVendors.flatMap((vendor) => facts[vendor]?.driver ?? []);
  if (own.includes(driver)) return null;
  if (own[0] !== undefined) return `driver ${own[0]}`;
  const there = gpuVendors.find((vendor) => facts[vendor] != null);
  if (there === undefined) return "neither an NVIDIA GPU nor a driver";
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
    isOpen(side: VendorFacts[V] | null | undefined): boolean;
    tell(side: VendorFacts[V] | null | undefined, driver: string): VendorFacts[V];
    readonly cures: HostProblem["code"];
  };
} = {
  nvidia: {
    versions: /^\d\d/,
    isOpen: (side) => side === undefined || side?.driver === null,
    tell: (side, driver) => {
      const facts = side ?? { ...unknownNvidia, unknown: openGpuFacts };
      return { ...facts, driver, cuda: facts.cuda ?? cudaOfDriver(driver) };
    },
    cures: "HOST_NO_DRIVER",
  },
  amd: {
    versions: /^\d\./,
    // The kernel's own driver has no version: that is known.
    isOpen: (side) => side?.unknown?.includes("driver") === true,
    tell: (side, driver) => ({ gpus: [], ...side, driver }),
    cures: "HOST_AMD_NO_DRIVER",
  },
};

/** The vendor whose driver a host leaves open: one with GPUs before one without. */
function openVendor(facts: HostFacts, driver: string): GpuVendor | null {
  const unknown = gpuVendors.filter(
    (vendor) => isOpen(vendor, facts) && drivers[vendor].versions.test(driver),
  );
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

function withDriver(facts: HostFacts, driver: string): HostFacts {
  const vendor = openVendor(facts, driver);
  if (vendor === null) return facts;
  return {
    ...facts,
    [vendor]: tell(vendor, facts, driver),
    problems: facts.problems.filter(({ code }) => code !== drivers[vendor].cures),
    sources: { ...facts.sources, [`${vendor}.driver`]: "--driver" },
  };
}
