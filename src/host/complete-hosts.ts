/** Facts that the user adds to those of hosts: `--no-gpu` and `--driver`. */

import { usageError } from "../errors.ts";
import { cudaOfDriver } from "../hardware/cuda-toolkits.ts";
import { factGrammar } from "./fact-grammar.ts";
import { type HostFacts, type NvidiaFacts, openGpuFacts } from "./facts.ts";
import type { NamedHost } from "./read-hosts.ts";
import { unknownNvidia } from "./unknown-facts.ts";

/** Facts that a host's own leave open. */
export interface ToldOfHost {
  /** false: where the facts of a host do not tell whether it has a GPU, it has none. */
  readonly gpu?: boolean;
  /** The driver of a host whose facts name none, as those of no machine type do. */
  readonly driver?: string;
}

/**
 * The same hosts with what their facts leave open: nothing here speaks against a fact. Throws `USAGE` for a driver that is none, and for one
 * that no host lacks.
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

/** The facts that contradict this driver; null if they leave it open, and if they name it too. */
function speaksAgainst({ nvidia }: HostFacts, driver: string): string | null {
  if (nvidia === null) return "neither an NVIDIA GPU nor a driver";
  const own = nvidia?.driver ?? null;
  return own === null || own === driver ? null : `driver ${own}`;
}

function withDriver(facts: HostFacts, driver: string): HostFacts {
  const { nvidia = unknownDriverAndGpus, problems, sources } = facts;
  if (nvidia === null || nvidia.driver !== null) return facts;
  const { unknown = [], ...told } = nvidia;
  const open = unknown.filter((fact) => fact !== "driver");
  return {
    ...facts,
    nvidia: {
      ...told,
      driver,
      cuda: told.cuda ?? cudaOfDriver(driver),
      ...(open.length === 0 ? {} : { unknown: open }),
    },
    problems: problems.filter(({ code }) => code !== "HOST_NO_DRIVER"),
    sources: { ...sources, "nvidia.driver": "--driver" },
  };
}

const unknownDriverAndGpus: NvidiaFacts = { ...unknownNvidia, unknown: openGpuFacts };
