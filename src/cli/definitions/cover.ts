/** The arguments and flags of cover. */

import { collect, withJson, withQuestion } from "../flags/options.ts";
import { positive } from "../flags/fleet-options.ts";
import type { Define } from "../define.ts";

export const cover: Define = (command, run) =>
  withQuestion(withJson(command))
    .description("say which image each host of a list gets, who gets none, and what a change would do")
    .argument(
      "[hosts...]",
      "facts of hosts: files, folders, JSON lines, lists of Kubernetes nodes, - for standard input",
    )
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
    .option("--driver <version>", "with --catalog and --host-type: the driver that they are to have")
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
    .action(run(async (flags: never, context) => (await import("../cover.ts")).cover(flags, context)));
