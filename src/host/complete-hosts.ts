/** Adds to hosts the facts that the user gives: `--no-gpu` and `--driver`. */

import { usageError } from "../errors.ts";
import { cudaOfDriver } from "../hardware/cuda-toolkits.ts";
import { factGrammar } from "./fact-grammar.ts";
import { type HostFacts, type NvidiaFacts, openGpuFacts } from "./facts.ts";
import type { NamedHost } from "./read-hosts.ts";
import { unknownNvidia } from "./no-facts.ts";

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
  if (!factGrammar.driver.test(driver))
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
  const { nvidia = null, amd = null } = facts;
  return { ...facts, nvidia, amd };
}

/** The fact that contradicts this driver; null if none does. */
function speaksAgainst({ nvidia }: HostFacts, driver: string): string | null {
  if (nvidia === null) return "neither an NVIDIA GPU nor a driver";
  const own = nvidia?.driver ?? null;
  return own === null || own === driver ? null : `driver ${own}`;
}

function withDriver(facts: HostFacts, driver: string): HostFacts {
  const { nvidia = unknownDriverAndGpus, problems, sources } = facts;
  if (nvidia === null || nvidia.driver !== null) return facts;
  const { unknown = [], ...known } = nvidia;
  const open = unknown.filter((fact) => fact !== "driver");
  return {
    ...facts,
    nvidia: {
      ...known,
      driver,
      cuda: known.cuda ?? cudaOfDriver(driver),
      ...(open.length === 0 ? {} : { unknown: open }),
    },
    problems: problems.filter(({ code }) => code !== "HOST_NO_DRIVER"),
    sources: { ...sources, "nvidia.driver": "--driver" },
  };
}

const unknownDriverAndGpus: NvidiaFacts = { ...unknownNvidia, unknown: openGpuFacts };
