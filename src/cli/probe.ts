/** `imgmatch probe`: what this machine is. A broken host is a fact too, so it exits 0. */

import { type ExitCode, exitCodes, ImgmatchError } from "../errors.ts";
import { describeHostFacts, formatFactsLine, formatHostFacts } from "../host/format-facts.ts";
import { printableReport } from "../printable.ts";
import type { CommandContext } from "./command-context.ts";
import { type HostChoice, hostFor } from "../host/host-choice.ts";

export interface ProbeFlags extends HostChoice {
  readonly eachLine?: boolean;
}

export async function probe(flags: ProbeFlags, context: CommandContext): Promise<ExitCode> {
  if (flags.eachLine) {
    for await (const _ of context.stdinLines()) context.out(await factsLine(flags, context));
    return exitCodes.ok;
  }
  const facts = await hostFor(flags, context);
  context.out(flags.json ? formatHostFacts(facts) : printableReport(describeHostFacts(facts)));
  return exitCodes.ok;
}

/** What cannot be answered is an answer too, as `--json` gives it: whoever asks the next time may be luckier. */
async function factsLine(flags: ProbeFlags, context: CommandContext): Promise<string> {
  try {
    return formatFactsLine(await hostFor(flags, context));
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    const { problemsToJson } = await import("./report/problems.ts");
    return `${JSON.stringify(JSON.parse(problemsToJson(error.problems)))}\n`;
  }
}
