/** Text as it goes to standard output and standard error: the one place that writes escape codes, and lets no other through. */

import { printableLines } from "../../printable.ts";

/**
 * Codes that the program itself sends to a terminal (ECMA-48, 8.3.117 SGR, 8.3.41 EL and 8.3.22 CUU). Every colour ends with the same code,
 * so that none reaches into the next word.
 */
const codes = {
  green: "\u001b[32m",
  red: "\u001b[31m",
  yellow: "\u001b[33m",
  dim: "\u001b[2m",
  bold: "\u001b[1m",
  end: "\u001b[0m",
  /** To the begin of the line, and empty it: before a line that is drawn again. */
  clearLine: "\r\u001b[K",
  /** To the line above, in the same column. */
  lineUp: "\u001b[A",
} as const;

export type Mark = keyof typeof codes;

/**
 * Drawn anew for every run, so that no lock, registry or log can contain a mark: it was written before. U+FDD0 is no character,
 * and kept for a program's own use (Unicode 16, 23.7).
 */
const secret = `\ufdd0${Math.random().toString(36).slice(2)}${Math.random().toString(36).slice(2)}:`;
const pattern = new RegExp(`${secret}(${Object.keys(codes).join("|")});`, "g");

/** Stands for an escape code until it is printed. */
export function mark(name: Mark): string {
  return `${secret}${name};`;
}

/**
 * Marks become their codes. Everything else that a terminal acts on becomes its JSON escape, but newlines and tabs: JSON stays JSON
 * with the same meaning.
 */
export function terminalText(text: string): string {
  const safe = printableLines(text);
  return safe.includes(secret) ? safe.replace(pattern, (_, name: Mark) => codes[name]) : safe;
}
