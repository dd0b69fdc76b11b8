/** Chooses the first case that a cell meets, for values that depend on several axes. */

import type { Problem } from "../../errors.ts";
import { remember } from "../../io/collections.ts";
import type { Case, ComputeValue, Matrix, NamedValue } from "../matrix/matrix.ts";
import { type Matchable, meets } from "../matrix/meets.ts";
import { splitKey } from "../matrix/settings.ts";
import { allValues } from "../matrix/values.ts";
import type { Cell } from "./cell.ts";
import { memoizeBy } from "./memoize-by.ts";
import { formatPatterns } from "./select.ts";

export function chooseCases(
  matrix: Matrix,
  cell: Matchable & { readonly compute: ComputeValue | null },
): Pick<Cell, "compute" | "named" | "unmatched"> {
  const { compute } = cell;
  const chosen = compute === null || compute.cases.length === 0 ? compute : choose(compute.cases, cell);
  const missing = compute !== null && chosen === null ? [`compute ${compute.label}`] : [];
  const named: Record<string, NamedValue> = {};
  for (const { name, cases } of matrix.values) {
    const value = choose(cases, cell);
    if (value === null) missing.push(name);
    else named[name] = value;
  }
  const unmatched = missing.length === 0 ? null : `no case of ${missing.join(" and ")} is for it`;
  return { compute: chosen ?? compute, named, unmatched };
}

/** The first case that a cell meets; null if there is none. Cells with the same labels on the axes that the cases name share the answer. */
export function choose<Chosen>(cases: readonly Case<Chosen>[], cell: Matchable): Chosen | null {
  const { axes, answers } = chooserOf(cases);
  let key = "";
  for (const axis of axes) key += `${axis === "platform" ? cell.platform : (cell.axes[axis] ?? "")}\n`;
  const { met } = remember(answers, key, () => ({
    met: cases.find(({ when }) => meets(cell, when)) ?? null,
  }));
  return (met as Case<Chosen> | null)?.chosen ?? null;
}

const chooserOf = memoizeBy((cases: readonly Case<unknown>[]) => ({
  axes: [...new Set(cases.flatMap(({ when }) => Object.keys(when).map((name) => splitKey(name)[0])))],
  answers: new Map<string, { readonly met: Case<unknown> | null }>(),
}));

/** Reports the cases that decided about no cell. Call it when all cells are made. */
export function unusedCases(matrix: Matrix): readonly Problem[] {
  const computes = new Set(
    allValues(matrix).flatMap(([, value]) => (value.kind === "compute" ? [value] : [])),
  );
  const lists = [...computes].map(({ label, cases }) => ({ name: `compute ${label}`, cases }));
  const fix =
    "correct the case's values, move the case before the case that takes its cells, or remove the case";
  return [...lists, ...matrix.values].flatMap(({ name, cases }) => {
    const met = new Set<unknown>([...chooserOf(cases).answers.values()].map((answer) => answer.met));
    const unmet = cases.filter((each) => !met.has(each));
    return unmet.map(({ at, when }): Problem => {
      const message = `no cell meets the case ${describe(when)} of ${name} first`;
      return { code: "MATRIX_CASE_UNUSED", message, fix, at };
    });
  });
}

function describe(when: Case<unknown>["when"]): string {
  return Object.keys(when).length === 0 ? "without when" : formatPatterns(when);
}
