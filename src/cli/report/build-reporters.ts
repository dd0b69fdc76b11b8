/** Reporters of a running build: each turns events into text for one kind of reader. */

import type { BuildEvent, CellResult } from "../../fleet/engines/built-cell.ts";
import type { SummaryEvent } from "../../fleet/run/run-plan.ts";
import { assertNever, type Problem, wholeMessage } from "../../errors.ts";
import { printable } from "../../printable.ts";
import { annotation } from "./annotation.ts";
import { reportProblem } from "./problems.ts";
import type { Style } from "./style.ts";
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

/** Finished cells as lines, and below them what is redrawn: counts, and each running cell with the end of its log. */
function ttyReporter(options: ReporterOptions): BuildReporter {
  const { write, style, total, clock } = options;
  const started = clock();
  const running = new Map<string, { readonly since: number; readonly lines: string[] }>();
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
    if (event.type === "log") return keepLine(running.get(event.cell)?.lines, event.line);
    if (event.type === "start") running.set(event.cell, { since: clock(), lines: [] });
    if (event.type === "done" || event.type === "failed" || event.type === "interrupted")
      running.delete(event.cell);
    if (event.type === "done") done++;
    if (event.type === "failed") failed++;
    const line = event.type === "done" || event.type === "failed" ? eventLine(event, style) : null;
    for (const text of [...(line === null ? [] : [line]), ...warnings(event)]) write(`${clear()}${text}\n`);
    draw();
  };
}

function keepLine(lines: string[] | undefined, line: string): void {
  if (lines === undefined || line.trim() === "") return;
  lines.push(line);
  if (lines.length > keptLines) lines.shift();
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

/** Adds an annotation for each problem of a failed cell. */
export function annotating(
  reporter: BuildReporter,
  { write }: Pick<ReporterOptions, "write">,
): BuildReporter {
  return (event) => {
    reporter(event);
    if (event.type !== "failed") return;
    for (const problem of event.problems)
      write(annotation(`${event.cell}: ${problem.code}`, wholeMessage(problem)));
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
  const failures = results.flatMap((result) =>
    result.status === "failed" ? failureLines(result, style) : [],
  );
  return `${[...failures, parts.join(", ")].join("\n")}\n`;
}

function failureLines(result: Extract<CellResult, { status: "failed" }>, style: Style): string[] {
  const problems = result.problems.map((problem: Problem) => reportProblem(problem, style));
  return [
    printable(`${style.strong(result.cell)}:`),
    ...problems,
    ...(result.log === null ? [] : [printable(`  log: ${result.log}`)]),
  ];
}

function seconds(milliseconds: number): string {
  return `${(milliseconds / 1000).toFixed(1)} s`;
}

interface Progress {
  readonly total: number;
  readonly done: number;
  readonly failed: number;
  readonly running: ReadonlyMap<string, RunningCell>;
  /** In milliseconds, as `now`. */
  readonly started: number;
  readonly now: number;
  readonly columns: number;
}

interface RunningCell {
  /** Its start, in milliseconds. */
  readonly since: number;
  /** The last lines of its log, at most {@link keptLines}. */
  readonly lines: readonly string[];
}

/** With the line of counts, they fit into the smallest usual terminal. */
export const keptLines = 9;

/**
 * `12/58 done, 4 running, 1 failed, 2:31`, and below it each running cell with the end of its log: one line if many cells run, else more.
 * No line is wider than the terminal.
 */
export function progressLines({ total, done, failed, running, started, now, columns }: Progress): string[] {
  const head = `${done}/${total} done, ${running.size} running, ${failed} failed, ${clockText(now - started)}`;
  const shown = [...running].slice(0, keptLines);
  const each = Math.max(1, Math.floor(keptLines / Math.max(1, shown.length)));
  const cells = shown.flatMap(([cell, { since, lines }]) => {
    const name = `  ${printable(cell)} (${Math.round((now - since) / 1000)} s)`;
    const last = each === 1 ? lines.slice(-1) : lines.slice(1 - each);
    return each === 1
      ? [[name, ...last.map(plain)].join("  ")]
      : [name, ...last.map((line) => `    ${plain(line)}`)];
  });
  return [head, ...cells].map((line) => cut(line, columns));
}

/** Removes colours, which a cut would leave open, and makes tabs one column wide. */
function plain(line: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences are what this looks for (ECMA-48, 5.4)
  return printable(line.replace(/\u001b\[[0-9;]*[A-Za-z]/g, "").replaceAll("\t", " "));
}

/** Counts characters from U+1100 on as two columns: some have two (Unicode, East Asian Width), and no line may wrap. */
function cut(line: string, columns: number): string {
  let width = 0;
  let end = 0;
  for (const character of line) {
    width += (character.codePointAt(0) ?? 0) >= 0x1100 ? 2 : 1;
    if (width > columns - 2) return `${line.slice(0, end)}…`;
    end += character.length;
  }
  return line;
}

function clockText(milliseconds: number): string {
  const seconds = Math.floor(milliseconds / 1000);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const rest = String(seconds % 60).padStart(2, "0");
  return hours > 0 ? `${hours}:${String(minutes).padStart(2, "0")}:${rest}` : `${minutes}:${rest}`;
}
