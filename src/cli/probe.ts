/** `imgmatch probe`: print what this machine is. A broken host is a fact too, so it exits 0. */

import { ImgmatchError } from "../errors.ts";
import { formatFactsLine, formatHostFacts } from "../facts/format-facts.ts";
import type { HostFacts } from "../facts/facts.ts";
import type { HostChoice } from "../host/probe.ts";
import { printableReport } from "../printable.ts";
import type { CommandContext, Define } from "./command.ts";
import { withHost } from "./flags/options.ts";
import type { JsonFlag } from "./print.ts";
import { describeHostFacts } from "./probe-lines.ts";

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

async function probeCommand(flags: ProbeFlags, context: CommandContext): Promise<void> {
  const { probeWith, readNodeOf } = await import("../host/probe.ts");
  if (flags.eachLine) {
    // The mirror of `serve` asks so, for its node.
    for await (const _ of context.stdinLines())
      context.out(await lineOf(() => readNodeOf(flags, { ...context, ...context.ports })));
    return;
  }
  const facts = await probeWith(context.ports)(flags, context);
  context.out(flags.json ? formatHostFacts(facts) : printableReport(describeHostFacts(facts)));
}

/** A failure becomes an answer, as with `--json`: the next line may succeed. */
async function lineOf(answer: () => Promise<HostFacts>): Promise<string> {
  try {
    return formatFactsLine(await answer());
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
    const { problemsJson } = await import("./report/problems.ts");
    return `${JSON.stringify(problemsJson(error.problems))}\n`;
  }
}
