/** `imgmatch probe`: what this machine is. A broken host is a fact too, so it exits 0. */

import { type ExitCode, exitCodes } from "../errors.ts";
import { describeHostFacts, formatHostFacts } from "../host/format-facts.ts";
import { printableReport } from "../input/printable.ts";
import type { CommandContext } from "./context.ts";
import { type HostFlags, hostFor } from "./flags/host.ts";

export interface ProbeFlags extends HostFlags {
  readonly json?: boolean;
}

export async function probe(flags: ProbeFlags, context: CommandContext): Promise<ExitCode> {
  const facts = await hostFor(flags, context);
  context.out(flags.json ? formatHostFacts(facts) : printableReport(describeHostFacts(facts)));
  return exitCodes.ok;
}
