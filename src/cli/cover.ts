/** `imgmatch cover`: say which image each of many hosts gets. Exits 1 where a policy does not hold. */

import type { CoverOptions } from "../cover/cover.ts";
import { type ExitCode, exitCodes, usageError } from "../errors.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { positive } from "./flags/fleet-options.ts";
import { collect, driverOption, noGpu, withJson, withQuestion } from "./flags/options.ts";
import { type JsonFlag, print } from "./print.ts";

interface CoverFlags extends CoverOptions, JsonFlag {
  readonly markdown?: boolean;
}

export const cover: Define = (command, run) =>
  withQuestion(withJson(command))
    .description("say which image each host of a list gets, who gets none, and what a change would do")
    .argument(
      "[hosts...]",
      "facts of hosts: files, folders, JSON lines, lists of Kubernetes nodes, - for standard input",
    )
    .option("--no-gpu", noGpu)
    .option(
      "--catalog <names>",
      "machine types as hosts, all of aws, azure, gcp or nvidia; repeatable, or a list",
      collect,
      [],
    )
    .option(
      "--host-type <names>",
      "single machine types as hosts, as in p5.48xlarge,g6.12xlarge; repeatable, or a list",
      collect,
      [],
    )
    .option("--driver <version>", driverOption)
    .option("--matrix <file>", "the fleet of this matrix as it is planned, built or not")
    .option(
      "--what-if <change>",
      "driver=580.95.05, drop:cuda=11.* or add:compute=10.0,cuda=13.0.2; repeatable",
      collect,
      [],
    )
    .option(
      "--check <policy>",
      "exit 1 unless it holds: every host served, every host native, no GPU host on a CPU image, no unused image; repeatable",
      collect,
      [],
    )
    .option(
      "--suggest <file>",
      "with --matrix: write the matrix of the fewest cells that serve every class natively",
    )
    .option(
      "--max-images <n>",
      "with --suggest: of the cells with which most hosts get native code",
      positive("--max-images 10"),
    )
    .option("--html <file>", "write the report as one page for browsers, too")
    .option("--markdown", "write Markdown, for a pull request or $GITHUB_STEP_SUMMARY")
    .action(run(coverCommand));

async function coverCommand(flags: CoverFlags, context: CommandContext): Promise<ExitCode> {
  const { json, markdown } = flags;
  if (json && markdown) throw usageError("--json and --markdown are two answers", "ask for one of them");
  const { cover: answerOf } = await import("../cover/cover.ts");
  const report = await answerOf(flags, context);
  const linesOf = markdown
    ? (await import("./cover-markdown.ts")).coverMarkdown
    : (await import("./cover-lines.ts")).coverLines;
  print(context, flags, report, (style) => linesOf(report, style));
  return report.violations === undefined || report.violations.length === 0 ? exitCodes.ok : exitCodes.failed;
}
