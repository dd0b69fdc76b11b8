/** A table in the answer of `imgmatch hardware`. */

import type { SourceKey } from "../../hardware/sources.ts";

/** One line of a table; `source` names keys of the report's `sources`. */
export interface ReportRow {
  readonly [column: string]: string | number | null | readonly string[];
  readonly source: readonly SourceKey[];
}

export interface ReportTable {
  readonly id: string;
  readonly title: string;
  /** The columns in the order in which to print them; every row has all of them. */
  readonly columns: readonly string[];
  readonly rows: readonly ReportRow[];
}

/** A table of these columns, null where a row lacks one, with the sources of each row. No table without rows. */
export function reportTable<Column extends string>(
  id: string,
  title: string,
  columns: readonly Column[],
  rows: readonly ({ readonly [Name in Column]?: ReportRow[string] } & Pick<ReportRow, "source">)[],
): readonly ReportTable[] {
  if (rows.length === 0) return [];
  const reported = rows.map(
    (row): ReportRow => ({
      ...Object.fromEntries(columns.map((column) => [column, row[column] ?? null])),
      source: row.source,
    }),
  );
  return [{ id, title, columns: [...columns, "source"], rows: reported }];
}
