/** Reads the rows of a JSON table. Each row names its sources. */

/** `test/hardware/tables.test.ts` checks that the rows are what the type says. */
export function readRows<Row>(rows: readonly unknown[]): readonly Row[] {
  return rows as readonly Row[];
}
