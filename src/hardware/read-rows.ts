/** Rows of a table beside this file: JSON, in which each row names its sources. */

/** The types say of the rows what `test/hardware/tables.test.ts` checks of each. */
export function readRows<Row>(rows: readonly unknown[]): readonly Row[] {
  return rows as readonly Row[];
}
