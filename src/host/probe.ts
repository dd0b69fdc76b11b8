/** Answers with the facts of this machine, of a file, or of a machine type. */

import { usageError } from "../errors.ts";
import { readTextFile } from "../io/files.ts";
import { inputLimits } from "../io/limits.ts";
import { type Watching, type World, inWorld, note } from "../io/world.ts";
import type { ClusterReader, HostWorld } from "./cluster-reader.ts";
import type { ToldOfHost } from "./complete-hosts.ts";
import type { HostFacts } from "../facts/facts.ts";
import { nodeHostIo } from "./node-host-io.ts";
import { type ProbeOptions, probeHost } from "./probe-host.ts";
import type { NamedHost } from "../facts/named-host.ts";

/** The host that a command is about. */
export interface HostChoice extends ToldOfHost {
  /** Facts, or a Kubernetes node, from a file, or `-` for standard input, in place of this machine. */
  readonly host?: string;
  /** A machine type in place of this machine: `p5.48xlarge`. */
  readonly hostType?: string;
  /** Visible GPUs: `0,2`, UUIDs, `all`, `none`. */
  readonly gpus?: string;
}

/** Whether this machine's drivers are asked to start, in a separate process that loads the drivers' libraries. */
export interface DriverQuestion {
  readonly askDriver?: boolean;
  /** The words that start imgmatch. Default: the one in PATH. */
  readonly self?: readonly [string, ...string[]];
}

/**
 * Reads CPU features, driver, GPUs and container runtime of this machine, or of a file. `problems` lists the faults of the machine.
 *
 * Throws `USAGE`, `SELECTION_INVALID` for unknown GPUs, `FACTS_…`.
 *
 * @example
 * const { cpu } = await probe();
 */
export type ProbeFunction = (options?: HostChoice & Watching, world?: Partial<World>) => Promise<HostFacts>;

export function probeWith(ports: ClusterReader): ProbeFunction {
  return (options = {}, given) => inWorld(options, given, (world) => readPairsOf(options, world), ports);
}

/** Of a choice that asks this machine's driver too, with the driver's own word. */
export async function readHostOf(options: HostChoice & DriverQuestion, world: HostWorld): Promise<HostFacts> {
  return readFacts(options, world, {});
}

/** The same, with the links and NUMA nodes of this machine's GPUs. */
export async function readPairsOf(
  options: HostChoice & DriverQuestion,
  world: HostWorld,
): Promise<HostFacts> {
  return readFacts(options, world, { pairs: true });
}

/** The same of the node around this container, whose own devices say nothing. */
export async function readNodeOf(options: HostChoice, world: HostWorld): Promise<HostFacts> {
  return readFacts(options, world, { ofNode: true });
}

async function readFacts(
  options: HostChoice & DriverQuestion,
  world: HostWorld,
  asked: Omit<ProbeOptions, "gpus">,
): Promise<HostFacts> {
  const { driver = [], askDriver = false, self = ["imgmatch"] } = options;
  const gpus = options.gpus === undefined ? undefined : namedGpus(options.gpus);
  const other = otherHost(options);
  if (other === null) {
    if (driver.length === 0) {
      const io = nodeHostIo(world.env);
      const facts = await probeHost(io, { ...asked, ...(gpus === undefined ? {} : { gpus }) });
      if (!askDriver) return facts;
      const { askStart, startWords } = await import("./ask-start.ts");
      const { facts: told, answers } = await askStart(facts, io, self, world);
      note(world, answers.flatMap(startWords));
      return told;
    }
    throw usageError(
      "--driver completes the facts of another host; this machine has its own",
      "leave it out, or name a host: --host FILE or --host-type NAME",
    );
  }
  const { completeHosts } = await import("./complete-hosts.ts");
  const named = await readOther(options, world);
  const [completed = named] = completeHosts([named], options);
  if (gpus === undefined) return completed.facts;
  const { narrowFacts } = await import("./narrow-facts.ts");
  return narrowFacts(completed.facts, gpus);
}

/** A number is a count of GPUs wherever `--gpus` stands, and only who hands out GPUs has a use for a count. */
function namedGpus(text: string): string {
  if (/^\d+$/.test(text)) {
    throw usageError(
      `--gpus ${text} is a number of GPUs, and this command sees the GPUs that are named`,
      `write --gpus device=${text} for GPU ${text}; launch and run take a number`,
    );
  }
  return text.replace(/^device=/, "");
}

/** The flag that names another host than this machine; null if none does. */
export function otherHost({ host, hostType }: Pick<HostChoice, "host" | "hostType">) {
  return host !== undefined ? "--host" : hostType !== undefined ? "--host-type" : null;
}

async function readOther({ host, hostType }: HostChoice, world: HostWorld): Promise<NamedHost> {
  if (hostType !== undefined) {
    if (host !== undefined)
      throw usageError("--host and --host-type each name the host", "leave one of them out");
    const { machineTypeHost } = await import("./catalog.ts");
    return machineTypeHost(hostType);
  }
  const { readHost } = await import("./read-host.ts");
  if (host === undefined || host === "-")
    return {
      name: "standard input",
      facts: await readHost(await world.readStdin(), "standard input", world),
    };
  const text = await readTextFile(host, inputLimits.facts, { fix: "imgmatch probe --json writes one" });
  return { name: host, facts: await readHost(text, host, world) };
}
