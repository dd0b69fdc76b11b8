/** Formats tables, lists and counts. */

import { printable } from "../printable.ts";

/** Aligns all columns but the last. */
export function formatTable(texts: readonly (readonly string[])[]): string[] {
  const rows = texts.map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, text] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, text.length);
  }
  return rows.map((row) =>
    row
      .map((text, column) => (column === row.length - 1 ? text : text.padEnd(widths[column] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
}

/** `a, b …` */
export function firstOf(names: readonly string[], most: number): string {
  return `${names.slice(0, most).join(", ")}${names.length > most ? " …" : ""}`;
}

/** `1 cell`, `2 cells`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
