/** What a machine is: this one, or the one that a file of facts speaks of. */

import { usageError } from "../errors.ts";
import { readTextFile } from "../io/files.ts";
import { inputLimits } from "../io/limits.ts";
import { type Watching, type World, worldOf } from "../io/world.ts";
import type { HostFacts } from "./facts.ts";
import { nodeHostIo } from "./node-io.ts";
import { probeHost } from "./probe-host.ts";
import { withoutGpu } from "./unknown.ts";

/** Which host is meant: of every command about one. */
export interface HostChoice {
  /** Facts, or a Kubernetes node, from a file, or `-` for standard input, in place of this machine. */
  readonly host?: string;
  /** Visible GPUs: `0,2`, UUIDs, `all`, `none`. */
  readonly gpus?: string;
  /** false: where the facts of a host do not tell whether it has an NVIDIA GPU, it has none. */
  readonly gpu?: boolean;
}

/**
 * Reads CPU features, driver, GPUs and container runtime of this machine, or of a file. What is wrong with the machine is in `problems`.
 *
 * Throws `USAGE`, `SELECTION_INVALID` for GPUs that are not there, `FACTS_…`.
 *
 * @example
 * const { cpu } = await probe();
 */
export async function probe(options: HostChoice & Watching = {}, given?: Partial<World>): Promise<HostFacts> {
  const { host, gpus } = options;
  const { env, readStdin } = worldOf(options, given);
  if (host === undefined) return probeHost(nodeHostIo(env), gpus === undefined ? {} : { gpus });
  if (gpus !== undefined) {
    throw usageError(
      "--gpus narrows what this machine shows; it cannot narrow facts from --host",
      "run imgmatch probe --gpus … on that machine and pass what it prints",
    );
  }
  const { readHost } = await import("./read-host.ts");
  const facts =
    host === "-"
      ? await readHost(await readStdin(), "standard input")
      : await readHost(
          await readTextFile(host, inputLimits.facts, { fix: "imgmatch probe --json writes one" }),
          host,
        );
  return options.gpu === false ? withoutGpu(facts) : facts;
}
