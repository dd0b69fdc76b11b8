/** `imgmatch init`: a small matrix and template to start from, or the matrix of a Dockerfile that is there. Overwrites nothing. */

import { type ExitCode, exitCodes, usageError } from "../errors.ts";
import { type InitOptions, initFleet } from "../fleet/init-fleet.ts";
import type { HostFacts } from "../host/facts.ts";
import { initLines } from "./report/init.ts";
import type { CommandContext } from "./command-context.ts";
import { print, tell } from "./print.ts";

export interface InitFlags extends InitOptions {
  /** A Dockerfile. */
  readonly from?: string;
  readonly host?: readonly string[];
  readonly json?: boolean;
}

export async function init(flags: InitFlags, context: CommandContext): Promise<ExitCode> {
  if (flags.from !== undefined) return initFromDockerfile(flags.from, flags, context);
  if ((flags.host ?? []).length > 0)
    throw usageError("--host says for which machines a Dockerfile is to be built", "add --from Dockerfile");
  const written = await initFleet(context.cwd, flags);
  print(
    context,
    flags,
    { schemaVersion: 1, written },
    () => `wrote ${written.join(", ")}\nnext: imgmatch plan\n`,
  );
  return exitCodes.ok;
}

async function initFromDockerfile(
  dockerfile: string,
  { name, registry, host, json = false }: InitFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const { initFrom } = await import("../fleet/init/init-from.ts");
  const hosts = await factsFor(host ?? [], context);
  const { notes, ...answer } = await initFrom(context.cwd, { dockerfile, hosts, name, registry });
  tell(notes, context);
  print(context, { json }, { schemaVersion: 1, ...answer, notes }, () => initLines(answer));
  return exitCodes.ok;
}

/** Of all files together; this machine where none is named. */
async function factsFor(files: readonly string[], context: CommandContext): Promise<readonly HostFacts[]> {
  if (files.length === 0) {
    const [{ probeHost }, { nodeHostIo }] = await Promise.all([
      import("../host/probe.ts"),
      import("../host/node-io.ts"),
    ]);
    return [await probeHost(nodeHostIo(context.env), {})];
  }
  const { readHostFiles } = await import("../host/read-host-files.ts");
  return (await readHostFiles(files, context.readStdin)).map(({ facts }) => facts);
}
