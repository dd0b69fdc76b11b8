/** Makes the rows of a workflow's matrix as GitHub does (docs.github.com, "Running variations of jobs in a workflow"). Pure. */

import { fieldsOf } from "../../io/json.ts";

export type Row = Readonly<Record<string, unknown>>;

/** GitHub runs 256 jobs of a matrix at most, after its exclusions. */
const mostRows = 3_000;

/** null for a matrix that is made at run time, or has more rows than GitHub takes. A value of a row may be unknown. */
export function rowsOf(matrix: unknown): readonly Row[] | null {
  if (matrix === undefined || matrix === null) return [{}];
  const { include, exclude, ...axes } = fieldsOf(matrix);
  const written = [include ?? [], exclude ?? [], ...Object.values(axes)];
  if (Object.keys(fieldsOf(matrix)).length === 0 || !written.every(Array.isArray)) return null;
  const names = Object.keys(axes);
  const size = names.reduce((all, axis) => all * listOf(axes[axis]).length, 1);
  if (Math.max(size, listOf(include).length, listOf(exclude).length) > mostRows) return null;
  const product = names.reduce<readonly Row[]>(
    (rows, axis) => rows.flatMap((row) => listOf(axes[axis]).map((value) => ({ ...row, [axis]: value }))),
    names.length === 0 ? [] : [{}],
  );
  const kept = product.filter(
    (row) =>
      !listOf(exclude).some((rule) =>
        Object.entries(fieldsOf(rule)).every(([axis, value]) => isEqual(row[axis], value)),
      ),
  );
  let rows = kept.map((original) => ({ original, row: original }));
  const alone: Row[] = [];
  for (const added of listOf(include).map(fieldsOf)) {
    const fits = ({ original }: { readonly original: Row }) =>
      names.every((axis) => !Object.hasOwn(added, axis) || isEqual(original[axis], added[axis]));
    if (rows.some(fits))
      rows = rows.map((each) => (fits(each) ? { ...each, row: { ...each.row, ...added } } : each));
    else alone.push(added);
  }
  return [...rows.map(({ row }) => row), ...alone];
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The label of each value: its text, or the first text of a mapping. */
export function labelsOf(row: Row): readonly string[] {
  return Object.values(row)
    .map((value) =>
      typeof value === "object" && value !== null
        ? Object.values(value).find((each) => typeof each === "string")
        : typeof value === "symbol"
          ? value.description
          : value,
    )
    .filter((value) => value !== undefined && value !== null && value !== "")
    .map(String);
}
