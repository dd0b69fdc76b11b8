/** Reads the rows of a JSON table. Each row names its sources. */

import type { SourceKey } from "./sources.ts";

export interface SourcedRow {
  readonly source: readonly SourceKey[];
  readonly note?: string;
}

/** `test/hardware/tables.test.ts` checks that the rows are what the type says. */
export function readRows<Row>(rows: readonly unknown[]): readonly Row[] {
  return rows as readonly Row[];
}
