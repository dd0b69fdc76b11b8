/** `imgmatch plan`: prints the action of the next build for each cell. */

import type { Problem } from "../errors.ts";
import { exitCodes, problemCodes, type ExitCode } from "../problem-codes.ts";
import type { ExplainedPlan, PlanOptions } from "../fleet/plan.ts";
import type { PlanAgainstOptions } from "../cover/plan-against.ts";
import type { PlanCellJson } from "../fleet/plan/plan-json.ts";
import { openActions, type ChangedFiles, type InputComparison } from "../fleet/plan/planned-cell.ts";
import type { FleetBuildEvent } from "../fleet/run/build-events.ts";
import type { Notice } from "../io/world.ts";
import { tableRows } from "../io/table.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import {
  withBases,
  withEngineName,
  withFleet,
  withLocalBases,
  withRebuild,
  withWorkspace,
} from "./flags/fleet-options.ts";
import { catalogOption, driverOption, many, withAll } from "./flags/options.ts";
import { overFleets } from "./over-fleets.ts";
import { type JsonFlag, print, tellProblem } from "./print.ts";
import { annotate } from "./report/annotation.ts";
import { byCause, cellsOf } from "./report/causes.ts";
import { planMarkdown, reportPlan } from "./report/plan-lines.ts";
import type { Style } from "./report/style.ts";

export const plan: Define = (command, run) =>
  withAll(
    withFleet(command)
      .description("Say what a build would do to each cell; change nothing")
      .option("--explain <cell>", "Compare each input of one cell with the lock's")
      .option("--check", "Exit 1 when the plan has work to do; a conflict is 6 in any case")
      .option("--all", "Name every cell, those too that are unchanged, excluded or impossible")
      .option("--markdown", "Write the plan for a pull request or a job's summary")
      .option("--against <lock>", "Say instead which hosts this change loses; exit 1 when it loses one")
      .option(
        "--hosts <path>",
        "With --against: facts of hosts, files, folders, or - for standard input",
        ...many,
      )
      .option("--catalog <names>", catalogOption, ...many)
      .option("--driver <version>", driverOption, ...many)
      .option(
        "--push",
        "Plan for build --push: count what was not pushed as not built, and read the version's index",
      )
      .option(
        "--remote",
        "Ask registries which images are published already, and which base images have moved",
      ),
    withRebuild,
    withLocalBases,
    withWorkspace,
    withEngineName,
    withBases,
  ).action(run(overFleets(planCommand, () => "whole")));

interface PlanFlags extends PlanOptions, Partial<PlanAgainstOptions>, JsonFlag {
  readonly check?: boolean;
  readonly all?: boolean;
  readonly markdown?: boolean;
}

async function planCommand(flags: PlanFlags, context: CommandContext): Promise<ExitCode> {
  const { against } = flags;
  if (against !== undefined) return compareWith({ ...flags, against }, context);
  const { planWith } = await import("../fleet/plan.ts");
  const plan = planWith(ports);
  const { explain } = flags;
  const problems: Problem[] = [];
  const world = { ...context, onEvent: keepProblems(problems, flags, context) };
  const explained = explain === undefined ? null : await plan({ ...flags, explain }, world);
  const answer = explained ?? (await plan(flags, world));
  print(context, flags, answer, (style) =>
    !("cells" in answer)
      ? explainedLines(answer, style)
      : flags.markdown
        ? planMarkdown(answer)
        : reportPlan(answer, flags.all ?? false, style),
  );
  for (const problem of problems) tellProblem(problem, context);
  if (problems.some(({ code }) => code === "BASE_UNRESOLVED")) return problemCodes.BASE_UNRESOLVED;
  const cells = "cells" in answer ? answer.cells : [answer];
  const conflicts = [...problems.filter(({ code }) => code === "INDEX_CONFLICT"), ...tagConflicts(cells)];
  annotate(conflicts, context);
  if (conflicts.length > 0) return exitCodes.conflict;
  const isOpen = problems.length > 0 || cells.some(({ action }) => openActions.includes(action));
  return flags.check && isOpen ? exitCodes.failed : exitCodes.ok;
}

async function compareWith(
  flags: PlanFlags & PlanAgainstOptions,
  context: CommandContext,
): Promise<ExitCode> {
  const [{ planAgainstWith }, { losesHosts }, { comparisonLines, comparisonMarkdown }] = await Promise.all([
    import("../cover/plan-against.ts"),
    import("../node/compare-outcomes.ts"),
    import("./report/comparison-lines.ts"),
  ]);
  const { matrix = "matrix.yaml", against, hosts = [], catalog = [], driver = [] } = flags;
  const answer = await planAgainstWith(ports)({ matrix, against, hosts, catalog, driver }, context);
  print(context, flags, answer, (style) =>
    flags.markdown ? comparisonMarkdown(answer) : comparisonLines(answer, style),
  );
  return losesHosts(answer) ? exitCodes.failed : exitCodes.ok;
}

/** A build would end each of these cells with the same code. */
function tagConflicts(
  cells: readonly Pick<PlanCellJson, "cell" | "action" | "reason">[],
): readonly Problem[] {
  const found = cells.filter(({ action }) => action === "conflict");
  return byCause(found, ({ reason }) => reason ?? "").map((alike) => ({
    code: "TAG_CONFLICT",
    message: `${cellsOf(alike)}: ${alike[0].reason}`,
  }));
}

/** Problems are printed below the answer; notes at once, but not with `--json`. */
export function keepProblems(
  problems: Problem[],
  { json = false }: JsonFlag,
  context: CommandContext,
): (event: FleetBuildEvent | Notice) => void {
  return (event) => {
    if (event.type === "problem") problems.push(event.problem);
    else if (event.type === "note" && !json) context.onEvent(event);
  };
}

/** One cell, with a line for each input. */
function explainedLines(answer: ExplainedPlan, style: Style): readonly string[] {
  const { cell, platform, action, reason, tag, inputs, context, contextFiles = null } = answer;
  const { locked, moved } = answer;
  const rows = inputs.map((input) => [
    stateOf(input, locked !== null),
    input.name === null ? input.input : `${input.input} ${input.name}`,
    input.changed === true ? `${input.was ?? "none"} → ${input.is ?? "none"}` : (input.is ?? "none"),
  ]);
  const lines = tableRows(rows, style).flatMap((each, index) =>
    inputs[index]?.changed === false ? each.map(style.dim) : each,
  );
  return [
    `${style.strong(cell)}  ${platform}  ${action}${reason === null ? "" : `: ${reason}`}`,
    `tag ${tag ?? "not known yet"}`,
    `in the lock: ${locked === null ? "no" : `${locked.tag} ${locked.digest ?? "(not pushed)"}`}`,
    ...lines,
    ...(context === undefined ? [] : describeTaken(context)),
    ...describeFiles(contextFiles),
    ...moved.map(({ ref, from, to }) => `moved  ${ref}  ${from} → ${to}`),
    ...(moved.length === 0
      ? []
      : ["the lock pins the old one; imgmatch lock --update-bases takes the new one"]),
  ];
}

function stateOf({ changed }: InputComparison, isLocked: boolean): string {
  if (changed === null) return isLocked ? "unknown" : "new";
  return changed ? "changed" : "same";
}

const mostFiles = 20;

/** `takes src/a.c src/b.c: COPY src/ /src/` */
function describeTaken({ whole, taken }: NonNullable<ExplainedPlan["context"]>): string[] {
  if (whole !== null) return [`takes the whole context: ${whole}`];
  if (taken.length === 0) return ["takes nothing of the context"];
  return taken.map(({ instruction, paths }) => {
    const more = paths.length > mostFiles ? ` and ${paths.length - mostFiles} more, see --json` : "";
    const shown = paths.length === 0 ? "nothing" : paths.slice(0, mostFiles).join(" ");
    return `takes ${shown}${more}: ${instruction}`;
  });
}

/** `context: changed src/a.c` */
function describeFiles(files: ChangedFiles | null): string[] {
  const all = Object.entries(files ?? {}).flatMap(([what, paths]: [string, readonly string[]]) =>
    paths.map((path) => `context: ${what} ${path}`),
  );
  if (all.length <= mostFiles) return all;
  return [...all.slice(0, mostFiles), `context: and ${all.length - mostFiles} more, see --json`];
}
