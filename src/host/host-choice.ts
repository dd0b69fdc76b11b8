/** The flags that every command about a host has. */

import { usageError } from "../errors.ts";
import type { HostFacts } from "./facts.ts";
import { nodeHostIo } from "./node-io.ts";
import { probeHost } from "./probe.ts";
import { readTextFile } from "../io/files.ts";
import { inputLimits } from "../io/limits.ts";
import type { World } from "../io/world.ts";

export interface HostChoice {
  /** Facts, or a Kubernetes node, from a file, or `-` for standard input, in place of this machine. */
  readonly host?: string;
  /** Visible GPUs: `0,2`, UUIDs, `all`, `none`. */
  readonly gpus?: string;
  readonly json?: boolean;
}

export async function hostFor({ host, gpus }: HostChoice, world: World): Promise<HostFacts> {
  if (host === undefined) return probeHost(nodeHostIo(world.env), gpus === undefined ? {} : { gpus });
  if (gpus !== undefined) {
    throw usageError(
      "--gpus narrows what this machine shows; it cannot narrow facts from --host",
      "run imgmatch probe --gpus … on that machine and pass what it prints",
    );
  }
  const { readHost } = await import("./read-host.ts");
  if (host === "-") return readHost(await world.readStdin(), "standard input");
  return readHost(
    await readTextFile(host, inputLimits.facts, { fix: "imgmatch probe --json writes one" }),
    host,
  );
}
