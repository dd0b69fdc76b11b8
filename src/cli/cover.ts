/** `imgmatch cover`: say which image each of many hosts gets. Exits 1 if a policy does not hold. */

import type { CoverOptions } from "../cover/cover.ts";
import { usageError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../problem-codes.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import {
  catalogOption,
  driverOption,
  many,
  noGpu,
  positive,
  withJson,
  withQuestion,
} from "./flags/options.ts";
import { type JsonFlag, print } from "./print.ts";

interface CoverFlags extends CoverOptions, JsonFlag {
  readonly markdown?: boolean;
}

const helpText = `
Exit code 1 when a --check does not hold.`;

export const cover: Define = (command, run) =>
  withQuestion(
    withJson(command)
      .description(
        "Say which image each of many hosts gets, which host gets none, and what a change would do",
      )
      .argument(
        "[hosts...]",
        "facts of hosts: files, folders, JSON lines, lists of Kubernetes nodes, - for standard input",
      )
      .option("--matrix <file>", "Take the fleet that this matrix plans, built or not")
      .option("--html <file>", "Write the report as one page for browsers too")
      .option("--markdown", "Write Markdown, for a pull request or $GITHUB_STEP_SUMMARY")
      .option(
        "--check <policy>",
        "Exit 1 unless it holds: every host served, every host native, no GPU host on a CPU image, no unused image",
        ...many,
      )
      .option(
        "--what-if <change>",
        "Show what a change would do: driver=580.95.05, drop:cuda=11.* or add:compute=10.0,cuda=13.0.2",
        ...many,
      )
      .option("--pull-plan", "Say which image each host is to pull, and how many bytes are missing there")
      .option(
        "--have <image>",
        "With --pull-plan: every host has this image already, a digest or cell of the fleet",
        ...many,
      )
      .option(
        "--suggest <file>",
        "With --matrix: write the matrix of the fewest cells that serve every host class natively",
      )
      .option(
        "--max-images <n>",
        "With --suggest: write at most so many images, those that serve most hosts natively",
        positive("--max-images 10"),
      )
      .optionsGroup("Hosts:")
      .option("--catalog <names>", catalogOption, ...many)
      .option("--host-type <names>", "Add these machine types as hosts: p5.48xlarge,g6.12xlarge", ...many)
      .option("--driver <version>", driverOption, ...many)
      .option("--no-gpu", noGpu),
  )
    .addHelpText("after", helpText)
    .action(run(coverCommand));

async function coverCommand(flags: CoverFlags, context: CommandContext): Promise<ExitCode> {
  const { json, markdown } = flags;
  if (json && markdown) throw usageError("--json and --markdown exclude each other", "ask for one of them");
  const { coverWith } = await import("../cover/cover.ts");
  const cover = coverWith(ports);
  const report = await cover(flags, context);
  const linesOf = markdown
    ? (await import("./cover-markdown.ts")).coverMarkdown
    : (await import("./cover-lines.ts")).coverLines;
  print(context, flags, report, (style) => linesOf(report, style));
  return report.violations === undefined || report.violations.length === 0 ? exitCodes.ok : exitCodes.failed;
}
