/** Reporters of a running build: each turns events into text for one kind of reader. */

import type { BuildEvent, CellResult, FailedCell } from "../../fleet/engines/built-cell.ts";
import type { SummaryEvent } from "../../fleet/run/build-events.ts";
import { assertNever, type Problem, wholeMessage } from "../../errors.ts";
import { printable } from "../../printable.ts";
import { count } from "../../io/table.ts";
import { type Alike, byCause, cellsOf } from "./causes.ts";
import { annotation } from "./annotation.ts";
import { reportProblem } from "./problems.ts";
import type { Style } from "./style.ts";
import { progressLines, readLine, type RunningCell } from "./running-cells.ts";
import { mark } from "./terminal-text.ts";

/** Gets the summary last. */
export type BuildReporter = (event: BuildEvent | SummaryEvent) => void;

export interface ReporterOptions {
  readonly write: (text: string) => void;
  readonly style: Style;
  /** Cells to build. */
  readonly total: number;
  readonly columns: number;
  /** Milliseconds, monotonic. */
  readonly clock: () => number;
}

export const buildReporters = {
  tty: ttyReporter,
  plain: plainReporter,
  steps: stepsReporter,
  quiet: quietReporter,
} as const satisfies Record<string, (options: ReporterOptions) => BuildReporter>;

export type ReporterName = keyof typeof buildReporters;

/** One line per step: for logs. */
function plainReporter({ write, style, total }: ReporterOptions): BuildReporter {
  let finished = 0;
  const warnings = warningsOnce(style);
  return (event) => {
    if (event.type === "summary") return write(summaryText(event, style));
    if (event.type === "done" || event.type === "failed") finished++;
    const line = eventLine(event, style);
    if (line !== null) write(`[${finished}/${total}] ${line}\n`);
    for (const warning of warnings(event)) write(`${warning}\n`);
  };
}

/** Finished cells as lines, and below them what is redrawn: counts, and each running cell with its running steps and the end of its log. */
function ttyReporter(options: ReporterOptions): BuildReporter {
  const { write, style, total, clock } = options;
  const started = clock();
  const running = new Map<string, RunningCell>();
  let done = 0;
  let failed = 0;
  let drawn = 0;
  const warnings = warningsOnce(style);
  const clear = () => {
    const text = mark("clearLine") + `${mark("lineUp")}${mark("clearLine")}`.repeat(Math.max(0, drawn - 1));
    drawn = 0;
    return text;
  };
  const draw = () => {
    const { columns } = options;
    const lines = progressLines({ total, done, failed, running, now: clock(), started, columns });
    write(clear() + lines.join("\n"));
    drawn = lines.length;
  };
  const timer = setInterval(draw, 200);
  timer.unref();
  return (event) => {
    if (event.type === "summary") {
      clearInterval(timer);
      return write(clear() + summaryText(event, style));
    }
    // The next tick draws it: a step can print thousands of lines a second.
    if (event.type === "log") return readLine(running.get(event.cell), event.line, clock());
    if (event.type === "start") running.set(event.cell, { since: clock(), steps: new Map(), lines: [] });
    if (event.type === "done" || event.type === "failed" || event.type === "interrupted")
      running.delete(event.cell);
    if (event.type === "done") done++;
    if (event.type === "failed") failed++;
    const line = event.type === "done" || event.type === "failed" ? eventLine(event, style) : null;
    for (const text of [...(line === null ? [] : [line]), ...warnings(event)]) write(`${clear()}${text}\n`);
    draw();
  };
}

/** Plain lines, and the output of the steps, each line after the name of its cell. */
function stepsReporter(options: ReporterOptions): BuildReporter {
  const plain = plainReporter(options);
  return (event) => {
    if (event.type === "log") options.write(`${printable(`${event.cell}: ${event.line}`)}\n`);
    else plain(event);
  };
}

/** Only warnings and, at the end, failures. */
function quietReporter({ write, style }: ReporterOptions): BuildReporter {
  const warnings = warningsOnce(style);
  return (event) => {
    if (event.type === "summary") {
      const isWhole = event.results.every(({ status }) => status === "built");
      if (!isWhole) write(summaryText(event, style));
    } else for (const warning of warnings(event)) write(`${warning}\n`);
  };
}

/** Shows a warning that many cells share only once. */
function warningsOnce(style: Style): (event: BuildEvent) => readonly string[] {
  const shown = new Set<string>();
  return (event) => {
    if (event.type !== "done") return [];
    const fresh = event.warnings.filter(({ code, message }) => !shown.has(`${code} ${message}`));
    for (const { code, message } of fresh) shown.add(`${code} ${message}`);
    return fresh.map((warning) => reportProblem(warning, style));
  };
}

/** Adds an annotation for each cause of failures. */
export function annotating(
  reporter: BuildReporter,
  { write }: Pick<ReporterOptions, "write">,
): BuildReporter {
  return (event) => {
    reporter(event);
    if (event.type !== "summary") return;
    for (const alike of failuresByCause(event.results))
      for (const problem of alike[0].problems)
        write(annotation(`${cellsOf(alike)}: ${problem.code}`, wholeMessage(problem)));
  };
}

function eventLine(event: BuildEvent, style: Style): string | null {
  const line = lineOf(event, style);
  return line === null ? null : printable(line);
}

function lineOf(event: BuildEvent, style: Style): string | null {
  switch (event.type) {
    case "start":
      return `build  ${event.cell}`;
    case "open":
      return `open   ${event.cell}`;
    case "push":
      return `push   ${event.cell}`;
    case "done":
      return `${style.good("done")}   ${event.cell}  ${event.how}${event.differs ? ` (${style.warn("not reproducible")}: built here were other bytes)` : ""}${event.digest === null ? "" : ` ${event.digest}`}  ${seconds(event.durationMs)}`;
    case "failed":
      return `${style.bad("failed")} ${event.cell}  ${event.problems[0].code}  ${seconds(event.durationMs)}`;
    case "log":
    case "interrupted":
      return null;
    default:
      return assertNever(event);
  }
}

/** The problems and the log of every failed cell, and the counts. */
function summaryText(
  { built, adopted, failed, interrupted, kept, results }: SummaryEvent,
  style: Style,
): string {
  const parts = [
    ...(built > 0 ? [style.good(`${built} built`)] : []),
    ...(adopted > 0 ? [`${adopted} adopted`] : []),
    ...(failed > 0 ? [style.bad(`${failed} failed`)] : []),
    ...(interrupted > 0 ? [style.warn(`${interrupted} not done`)] : []),
    ...(kept > 0 ? [`${kept} kept`] : []),
  ];
  const failures = failuresByCause(results).flatMap((alike) => failureLines(alike, style));
  return `${[...failures, parts.join(", ")].join("\n")}\n`;
}

/** The end of what a step printed is part of its cause. */
export function failuresByCause(results: readonly CellResult[]): readonly Alike<FailedCell>[] {
  const failed = results.filter((result) => result.status === "failed");
  return byCause(
    failed,
    ({ problems }) =>
      problems.map(({ code, message, details = [] }) => `${code} ${message} ${details.at(-1)}`).join("\n"),
    // A march that a compiler lacks has a cure of its own.
    ({ problems }) => problems.map(({ code, fix = "" }) => (code === "BUILD_FAILED" ? fix : "")).join("\n"),
  );
}

/** The names of all cells, and the problems and the log of the first. */
function failureLines(alike: Alike<FailedCell>, style: Style): string[] {
  const [{ problems, log }, ...others] = alike;
  const names = alike.map(({ cell }) => style.strong(cell)).join(", ");
  return [
    printable(`${others.length === 0 ? "" : `${count(alike.length, "cell")}: `}${names}:`),
    ...problems.map((problem: Problem) => reportProblem(problem, style)),
    ...(log === null ? [] : [printable(`  log: ${log}`)]),
  ];
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}
