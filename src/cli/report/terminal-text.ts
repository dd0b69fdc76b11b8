/** Makes text safe for a terminal, and for a log that takes commands. Only this file writes escape codes. No other code passes. */

import type { Environment } from "../../io/world.ts";
import { jsonEscape, printableLines } from "../../printable.ts";

/**
 * The codes that the program sends to a terminal (ECMA-48, 8.3.117 SGR, 8.3.41 EL and 8.3.22 CUU).
 */
const codes = {
  green: "\u001b[32m",
  red: "\u001b[31m",
  yellow: "\u001b[33m",
  dim: "\u001b[2m",
  bold: "\u001b[1m",
  end: "\u001b[0m",
  /** To the start of the line, and erase it. */
  clearLine: "\r\u001b[K",
  /** To the line above. */
  lineUp: "\u001b[A",
  /** The start of a workflow command of GitHub Actions. */
  command: "::",
} as const;

export type Mark = keyof typeof codes;

/**
 * Random in every run, so that no lock, registry or log can hold a mark. U+FDD0 is reserved for use inside a program
 * (Unicode 16, 23.7).
 */
const secret = `\ufdd0${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}:`;
const pattern = new RegExp(`${secret}(${Object.keys(codes).join("|")});`, "g");

/** A placeholder of an escape code in unprinted text. */
export function mark(name: Mark): string {
  return `${secret}${name};`;
}

/** `::` at the start of a line, behind blanks too, and `##[` anywhere in a line (actions/runner, ActionCommand.cs). */
const workflowCommand = /(?<=^[^\S\n]*):(?=:)|(?<=##)\[/gm;

/**
 * Replaces marks by their codes. A runner of GitHub Actions takes commands from its log: there a mark alone begins a command. Escapes all other control characters as JSON does, except newlines and tabs: JSON keeps its
 * meaning.
 */
export function terminalText(text: string, { GITHUB_ACTIONS }: Environment = {}): string {
  const shown = printableLines(text);
  const safe = GITHUB_ACTIONS === "true" ? shown.replace(workflowCommand, jsonEscape) : shown;
  return safe.includes(secret) ? safe.replace(pattern, (_, name: Mark) => codes[name]) : safe;
}
