/** A table of hardware as `imgmatch hardware` answers with it. */

import type { SourceKey } from "./sources.ts";

type ReportCell = string | number | null | readonly string[];

/** One line of a table; `source` names keys of the report's `sources`. */
export interface ReportRow {
  readonly [column: string]: ReportCell;
  readonly source: readonly SourceKey[];
}

export interface ReportTable {
  readonly id: string;
  readonly title: string;
  /** The columns in the order in which to print them; every row has all of them. */
  readonly columns: readonly string[];
  readonly rows: readonly ReportRow[];
}

/** A table whose columns are those of its rows, which must all have the same ones; nothing when there is no row. */
export function reportTable(id: string, title: string, rows: readonly ReportRow[]): readonly ReportTable[] {
  const [first] = rows;
  return first === undefined ? [] : [{ id, title, columns: Object.keys(first), rows }];
}

/** These members of rows, null where a row has none, with its sources. */
export function columnsOf<Column extends string>(
  rows: readonly ({ readonly [Name in Column]?: ReportCell } & Pick<ReportRow, "source">)[],
  ...columns: readonly Column[]
): readonly ReportRow[] {
  return rows.map((row) => ({
    ...Object.fromEntries(columns.map((column) => [column, row[column] ?? null])),
    source: row.source,
  }));
}
