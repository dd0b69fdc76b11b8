/** The running cells of a build on a terminal: the steps of each with their times, and the end of its log. */

import { printable } from "../../printable.ts";

export interface RunningCell {
  /** Its start, in milliseconds. */
  readonly since: number;
  /** By the engine's number, the one that began last at the end; none for an engine that names no steps. */
  readonly steps: Map<string, RunningStep>;
  /** The last lines that its steps printed, at most {@link keptLines}. */
  readonly lines: string[];
}

interface RunningStep {
  /** `[2/3] RUN make` */
  readonly name: string;
  /** In milliseconds. */
  readonly since: number;
}

/** With the line of counts, they fit into the smallest usual terminal. */
export const keptLines = 9;
/** More never run at once in one cell. A step of Podman may print what looks like the start of others. */
const mostSteps = 64;

/**
 * Takes one line of a cell's log. BuildKit writes `#8 [2/3] RUN make`, `#8 0.53 cc …` and `#8 DONE 1.2s`, Podman and buildah `STEP 2/3: RUN make`.
 *
 * @param now in milliseconds
 */
export function readLine(cell: RunningCell | undefined, line: string, now: number): void {
  if (cell === undefined) return;
  const { steps, lines } = cell;
  const [, number = "", words = ""] = /^#(\d+) (.*)$/.exec(line) ?? [];
  const [step] = /^(?:\[\d+\/\d+\] )?STEP .*/.exec(line) ?? [];
  if (step !== undefined) {
    steps.clear();
    steps.set("", { name: step, since: now });
  } else if (number === "") keep(lines, line);
  else if (/^(?:DONE|CACHED|CANCELED|ERROR)\b/.test(words)) steps.delete(number);
  else if (!steps.has(number)) {
    if (steps.size < mostSteps) steps.set(number, { name: words, since: now });
  } else if (words !== "..." && words !== steps.get(number)?.name)
    keep(lines, words.replace(/^\d+\.\d+ /, ""));
}

function keep(lines: string[], line: string): void {
  if (line.trim() === "") return;
  lines.push(line);
  if (lines.length > keptLines) lines.shift();
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

/**
 * `12/58 done, 4 running, 1 failed, 2:31`, and below it each running cell with steps and the end of the log: a line each if many cells
 * run, else more. No line is wider than the terminal.
 */
export function progressLines({ total, done, failed, running, started, now, columns }: Progress): string[] {
  const head = `${done}/${total} done, ${running.size} running, ${failed} failed, ${clockText(now - started)}`;
  const shown = [...running].slice(0, keptLines);
  const each = Math.max(1, Math.floor(keptLines / Math.max(1, shown.length)));
  const cells = shown.flatMap(([cell, { since, steps, lines }]) => {
    const timed = (name: string, from: number) =>
      `${withoutColors(name)} (${Math.round((now - from) / 1000)} s)`;
    const named = [...steps.values()].map((step) => timed(step.name, step.since));
    const name = `  ${timed(cell, since)}`;
    if (each === 1) return [[name, ...named.slice(-1), ...lines.slice(-1).map(withoutColors)].join("  ")];
    // The last line of the log has room beside the steps, where there are two lines.
    const below = named.slice(-Math.max(1, each - 2));
    const left = each - 1 - below.length;
    return [
      name,
      ...below.map((text) => `    ${text}`),
      ...(left > 0 ? lines.slice(-left) : []).map((line) => `      ${withoutColors(line)}`),
    ];
  });
  return [head, ...cells].map((line) => cut(line, columns));
}

/** Removes colours, which a cut would leave open, and makes tabs one column wide. */
function withoutColors(line: string): string {
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
