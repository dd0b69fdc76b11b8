/** `imgmatch probe`: print what this machine is. A broken host is a fact too, so it exits 0. */

import { type ExitCode, exitCodes, ImgmatchError } from "../errors.ts";
import { describeHostFacts, formatFactsLine, formatHostFacts } from "../host/format-facts.ts";
import type { HostChoice } from "../host/probe.ts";
import { printableReport } from "../printable.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { withHost } from "./flags/options.ts";
import type { JsonFlag } from "./print.ts";

interface ProbeFlags extends HostChoice, JsonFlag {
  readonly eachLine?: boolean;
}

const helpText = `
A broken host is a fact too: exit code 0.`;

export const probe: Define = (command, run) =>
  withHost(
    command
      .description("Print the facts of this machine: CPU features, driver, GPUs")
      .option("--each-line", "Answer each line of standard input with the facts, as one line of JSON"),
  )
    .addHelpText("after", helpText)
    .action(run(probeCommand));

async function probeCommand(flags: ProbeFlags, context: CommandContext): Promise<ExitCode> {
  if (flags.eachLine) {
    for await (const _ of context.stdinLines()) context.out(await factsLine(flags, context));
    return exitCodes.ok;
  }
  const { probe: answerOf } = await import("../host/probe.ts");
  const facts = await answerOf(flags, context);
  context.out(flags.json ? formatHostFacts(facts) : printableReport(describeHostFacts(facts)));
  return exitCodes.ok;
}

/** A failure is an answer too, as `--json` gives it: the next line may fare better. */
async function factsLine(flags: ProbeFlags, context: CommandContext): Promise<string> {
  const { probe: answerOf } = await import("../host/probe.ts");
  try {
    return formatFactsLine(await answerOf(flags, context));
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    const { problemsJson } = await import("./report/problems.ts");
    return `${JSON.stringify(problemsJson(error.problems))}\n`;
  }
}
