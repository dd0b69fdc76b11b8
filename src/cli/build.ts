/** `imgmatch build`: build what the lock does not have, and write the lock. */

import { ImgmatchError, type Problem, usageError } from "../errors.ts";
import { type ExitCode, exitCodes, problemCodes } from "../problem-codes.ts";
import type { BuildOptions } from "../fleet/build.ts";
import type { SummaryEvent } from "../fleet/run/build-events.ts";
import { writeFileAtomic } from "../io/write-file.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import {
  withBases,
  withEngine,
  withFleet,
  withLocalBases,
  withPace,
  withProgress,
  withRebuild,
  withSigning,
  withWorkspace,
} from "./flags/fleet-options.ts";
import { withAll, withTrust } from "./flags/options.ts";
import { overFleets } from "./over-fleets.ts";
import { keepProblems } from "./plan.ts";
import { print, tellProblem } from "./print.ts";
import { type BuildListenerFlags, exitCodeOf, listenerFor } from "./report/build-listener.ts";
import { buildMarkdown } from "./report/build-markdown.ts";
import { junitText } from "./report/junit.ts";
import { planMarkdown, reportPlan } from "./report/plan-lines.ts";

const helpText = `
While it runs: Ctrl-C once finishes what is being pushed, twice ends at once.
One failing cell does not stop the others. Each cell's log is below
.imgmatch/logs/ beside the matrix.

Environment: DOCKER_HOST, DOCKER_CONTEXT, DOCKER_TLS_VERIFY and DOCKER_CERT_PATH
as for docker (no ssh://); SOURCE_DATE_EPOCH sets the times in the lock;
IMGMATCH_REVISION replaces git's HEAD; GITHUB_ACTIONS=true writes annotations.`;

export const build: Define = (command, run) =>
  withAll(
    command
      .description("Build every cell that is not in the lock, and write the lock")
      .option("--push", "Push every image; never overwrite another one")
      .option("--index", "With --push: write the index of the version too, as publish does")
      .option(
        "--take-over <version>",
        "With --push: take images of the same inputs over from the signed index of this version, where the lock lacks them",
      )
      .option("--dry-run", "Say what would be built, and stop")
      .option("--junit <file>", "Write the result of each cell as JUnit XML")
      .option("--markdown", "Print a summary for a job's page: failures by cause")
      .option(
        "--strict",
        "Fail where an axis makes no difference to the images, or a file was compiled for more than its march has",
      )
      .option(
        "--replace-index",
        "With --push: build also what the version's index has with another image; with --index: write over what the index says of these cells, or of all without --only",
      ),
    withFleet,
    withPace,
    withProgress,
    withRebuild,
    withLocalBases,
    withWorkspace,
    withEngine,
    withBases,
    withSigning,
    withTrust,
  )
    .addHelpText("after", helpText)
    .action(run(overFleets(buildCommand, ({ dryRun }) => (dryRun ? "whole" : "lines"))));

interface BuildFlags extends BuildOptions, BuildListenerFlags {
  readonly junit?: string;
  readonly markdown?: boolean;
}

async function buildCommand(flags: BuildFlags, context: CommandContext): Promise<ExitCode> {
  const { junit, markdown = false, json = false, matrix = "matrix.yaml" } = flags;
  if (json && markdown) throw usageError("--json and --markdown exclude each other", "leave one of them out");
  const { buildWith } = await import("../fleet/build.ts");
  const buildFleet = buildWith(ports);
  if (flags.dryRun) {
    const problems: Problem[] = [];
    const world = { ...context, onEvent: keepProblems(problems, flags, context) };
    const plan = await buildFleet({ ...flags, dryRun: true }, world);
    print(context, flags, plan, (style) => (markdown ? planMarkdown(plan) : reportPlan(plan, false, style)));
    for (const problem of problems) tellProblem(problem, context);
    const [first] = problems;
    return first === undefined ? exitCodes.ok : problemCodes[first.code];
  }
  // The summary has what the listener would print as the answer.
  const answers = markdown ? { ...context, out: () => {} } : context;
  const tell = listenerFor(flags, answers, { summary: true });
  let results: SummaryEvent["results"] = [];
  let problems: readonly Problem[] = [];
  const onEvent: typeof tell = (event) => {
    if (event.type === "summary") results = event.results;
    tell(event);
  };
  try {
    const answer = await buildFleet(flags, { ...context, onEvent });
    if (markdown) print(context, flags, answer, () => buildMarkdown(matrix, answer));
    return exitCodeOf(answer);
  } catch (error) {
    problems = error instanceof ImgmatchError ? error.problems : [];
    throw error;
  } finally {
    if (junit !== undefined) await writeFileAtomic(junit, junitText({ suite: matrix, results, problems }));
  }
}
