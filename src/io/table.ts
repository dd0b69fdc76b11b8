/** Formats tables, lists and counts. */

import { printable } from "../printable.ts";

export interface TableShape {
  /** Characters of a line; unlimited by default. */
  readonly width?: number;
  /** The first row has the names of the columns. */
  readonly heads?: boolean;
}

/** Aligns all cells but the last of each row. A cell that does not fit goes below its row. */
export function formatTable(texts: readonly (readonly string[])[], shape: TableShape = {}): string[] {
  return tableRows(texts, shape).flat();
}

const gap = "  ";
/** The last cell of a row is broken into lines of at least so many characters; else it goes below. */
const narrowest = 24;

/** The lines of each row. The widest columns go below first. Words stay whole, also a word that is longer than a line. */
export function tableRows(
  texts: readonly (readonly string[])[],
  { width = Number.POSITIVE_INFINITY, heads = false }: TableShape = {},
): string[][] {
  const rows = texts.map((row) => row.map(printable));
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, { length }] of row.slice(0, -1).entries())
      widths[column] = Math.max(widths[column] ?? 0, length);
  }
  const widestLast = Math.max(0, ...rows.map((row) => row.at(-1)?.length ?? 0));
  const aligned = [...widths.keys()];
  const room = () => aligned.reduce((left, column) => left - (widths[column] ?? 0) - gap.length, width);
  // Without names, each row has its last cell in its line or below: then no space is kept for it.
  const kept = heads ? Math.min(widestLast, narrowest) : 0;
  while (room() < kept && aligned.length > 1) {
    const widest = aligned.slice(1).sort((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0))[0] ?? 0;
    if (heads && widestLast > (widths[widest] ?? 0) && room() >= 0) break;
    aligned.splice(aligned.indexOf(widest), 1);
  }
  const left = room();
  const fits = (row: readonly string[]) => {
    const text = row.at(-1) ?? "";
    return (
      text.length <= left || (left >= narrowest && text.split(" ").every(({ length }) => length <= left))
    );
  };
  const names = heads ? rows[0] : undefined;
  const allFit = rows.every(fits);
  return rows.map((row) => {
    const last = row.length - 1;
    const isInRow = last === 0 || (heads ? allFit : fits(row));
    const start = aligned
      .filter((column) => column < last)
      .map((column) => (row[column] ?? "").padEnd(widths[column] ?? 0) + gap)
      .join("");
    const lines = isInRow ? wrap(row[last] ?? "", width, start, " ".repeat(start.length)) : [start];
    const below = row.flatMap((text, column) => {
      const isBelow = column === last ? !isInRow : !aligned.includes(column);
      if (!isBelow || row === names || text === "" || text === "-") return [];
      return names === undefined
        ? wrap(text, width, "    ")
        : wrap(text, width, `    ${names[column]}: `, "      ");
    });
    return [...lines, ...below].map((line) => line.trimEnd());
  });
}

/** Lines of at most `width` characters, broken at blanks. */
export function wrap(text: string, width: number, first = "", next = first): string[] {
  const lines: string[] = [];
  let line = first;
  let isEmpty = true;
  for (const word of text.split(" ")) {
    if (!isEmpty && line.length + 1 + word.length > width) {
      lines.push(line);
      line = next;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line];
}

/** A line in lines of at most `width` characters: those after the first stand further in. */
export function wrapLine(line: string, width: number): string[] {
  return wrap(line, width, "", `${/^ */.exec(line)?.[0]}  `);
}

/** `a, b …` */
export function firstOf(names: readonly string[], most: number): string {
  return `${names.slice(0, most).join(", ")}${names.length > most ? " …" : ""}`;
}

/** `1 cell`, `2 cells`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}
