/** The lines that a terminal redraws while a build runs: counts, and the latest output of each running cell. */

import { printable } from "../../printable.ts";

export interface Progress {
  readonly total: number;
  readonly done: number;
  readonly failed: number;
  readonly running: ReadonlyMap<string, RunningCell>;
  /** In milliseconds, as `now`. */
  readonly started: number;
  readonly now: number;
  readonly columns: number;
}

export interface RunningCell {
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
