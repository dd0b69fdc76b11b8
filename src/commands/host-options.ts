/** The flags that every command about a host has. */

import { ImgmatchError } from "../errors.ts";
import type { HostFacts } from "../host/facts.ts";
import { nodeHostIo } from "../host/node-io.ts";
import { probeHost } from "../host/probe.ts";
import { readTextFile } from "../io/files.ts";
import { inputLimits } from "../input/limits.ts";
import { printableReport } from "../input/printable.ts";
import { isBroken } from "../resolve/host-view.ts";
import type { CommandContext } from "./context.ts";

export interface HostFlags {
  /** Facts, or a Kubernetes node, from a file, or `-` for standard input, in place of this machine. */
  readonly host?: string;
  /** Visible GPUs: `0,2`, UUIDs, `all`, `none`. */
  readonly gpus?: string;
}

export async function hostFor({ host, gpus }: HostFlags, context: CommandContext): Promise<HostFacts> {
  if (host === undefined) return probeHost(nodeHostIo(context.env), gpus === undefined ? {} : { gpus });
  if (gpus !== undefined) {
    throw new ImgmatchError({
      code: "USAGE",
      message: "--gpus narrows what this machine shows; it cannot narrow facts from --host",
      fix: "run imgmatch probe --gpus … on that machine and pass what it prints",
    });
  }
  const { readHost } = await import("../host/read-host.ts");
  if (host === "-") return readHost(await context.readStdin(), "standard input");
  return readHost(
    await readTextFile(host, inputLimits.facts, { fix: "imgmatch probe --json writes one" }),
    host,
  );
}

/**
 * Says what is wrong with a host that still gets an answer: a CPU image for a machine whose GPU nobody can use must not come in
 * silence, and an answer from the labels of a Kubernetes node is no better than they are. A broken host's problem is the answer.
 */
export function tellProblems({ problems }: HostFacts, { err }: Pick<CommandContext, "err">): void {
  for (const problem of problems) {
    if (isBroken(problem)) continue;
    const { code, message, fix } = problem;
    const word = code === "HOST_LABELS_INCOMPLETE" ? "not proved" : code;
    err(printableReport([`${word}: ${message}`, ...(fix === undefined ? [] : [`  fix: ${fix}`])]));
  }
}
