/** Reports the events of build and publish as lines of JSON or as text, and chooses the exit code. */

import { usageError } from "../../errors.ts";
import { type ExitCode, exitCodes, problemCodes } from "../../problem-codes.ts";
import type { PublicationEvent } from "../../fleet/publish/publication.ts";
import type { BuildAnswer, FleetBuildEvent } from "../../fleet/run/build-events.ts";
import { count } from "../../io/table.ts";
import type { Notice } from "../../io/world.ts";
import type { CommandContext } from "../command.ts";
import type { ProgressName } from "../flags/fleet-options.ts";
import {
  annotating,
  type BuildReporter,
  buildReporters,
  type ReporterName,
  type ReporterOptions,
} from "./build-reporters.ts";
import { summarise } from "./plan-lines.ts";
import { problemJson } from "./problems.ts";
import { reportPublication } from "./publication-lines.ts";
import { styleFor } from "./style.ts";
import type { JsonFlag } from "../print.ts";

export interface BuildListenerFlags extends JsonFlag {
  readonly progress?: ProgressName;
}

/**
 * Throws `USAGE` for two forms at once.
 *
 * @param summary print the counts of the plan first
 */
export function listenerFor(
  flags: BuildListenerFlags,
  context: CommandContext,
  { summary }: { readonly summary: boolean },
): (event: FleetBuildEvent | Notice) => void {
  const { json = false, progress = "auto" } = flags;
  if (json && progress !== "auto")
    throw usageError("--json and --progress exclude each other", "leave one of them out");
  const tell = json ? jsonLines(context) : reports(progress, context, { summary });
  return (event) => {
    switch (event.type) {
      case "publish":
      case "signatures":
      case "index":
        return reportPublication(event, flags, context);
      case "plan":
        context.takeSignals("finish");
    }
    tell(event);
  };
}

type ReportedEvent = Exclude<FleetBuildEvent, PublicationEvent> | Notice;

/** One JSON object a line. */
function jsonLines({ out, onEvent }: CommandContext): (event: ReportedEvent) => void {
  return (event) => {
    switch (event.type) {
      case "plan":
      case "note":
        return;
      case "problem":
        // The event of the index names the cells that it lacks.
        return event.problem.code === "INDEX_INCOMPLETE" ? undefined : onEvent(event);
      default:
        out(`${JSON.stringify(event, wholeProblems)}\n`);
    }
  };
}

/** In JSON, the details of a problem are part of its message. */
function wholeProblems(_: string, value: unknown): unknown {
  const isDetailed =
    typeof value === "object" &&
    value !== null &&
    "code" in value &&
    "message" in value &&
    "details" in value;
  return isDetailed ? problemJson(value as Parameters<typeof problemJson>[0]) : value;
}

function reports(
  progress: ProgressName,
  context: CommandContext,
  { summary }: { readonly summary: boolean },
): (event: ReportedEvent) => void {
  let total = 0;
  let reporter: BuildReporter | null = null;
  // Made at the first cell: a failure before it leaves the terminal as it is.
  const report = () => {
    reporter ??= reporterFor(progress, total, context);
    return reporter;
  };
  return (event) => {
    switch (event.type) {
      case "problem":
      case "note":
        return context.onEvent(event);
      case "plan":
        total = event.counts.build;
        if (summary && total > 0 && progress !== "quiet") context.err(`${summarise(event)}\n`);
        return;
      case "summary":
        if (event.results.length > 0) return report()(event);
        if (progress !== "quiet")
          context.err(`nothing to build: ${count(event.kept, "image")} in the lock\n`);
        return;
      default:
        report()(event);
    }
  };
}

function reporterName(progress: ProgressName, { terminal, env }: CommandContext): ReporterName {
  if (progress !== "auto") return progress === "plain" ? "steps" : progress;
  return terminal.animated && env.GITHUB_ACTIONS !== "true" ? "tty" : "plain";
}

function reporterFor(progress: ProgressName, total: number, context: CommandContext): BuildReporter {
  const { err, terminal, env } = context;
  const options: ReporterOptions = {
    write: err,
    style: styleFor(terminal.color.err),
    total,
    // A getter: the window may change its size during the build.
    get columns() {
      return terminal.columns;
    },
    clock: () => performance.now(),
  };
  const reporter = buildReporters[reporterName(progress, context)](options);
  return env.GITHUB_ACTIONS === "true" ? annotating(reporter, options) : reporter;
}

/** The code that all failures share; 1 if their codes differ, or if the index lacks cells. */
export function exitCodeOf({ results, index }: Pick<BuildAnswer, "results" | "index">): ExitCode {
  const failed = results.flatMap((result) => (result.status === "failed" ? [result.problems[0].code] : []));
  const [code, ...more] = new Set(failed.map((each) => problemCodes[each]));
  if (code !== undefined) return more.length === 0 ? code : exitCodes.failed;
  return index === null || index.missing.length === 0 ? exitCodes.ok : exitCodes.failed;
}
