/** Cells that a matrix could have: of its own values, and of values that only a host class brings. */

import type { AxisValue, ComputeValue, CudaValue, MarchValue, Matrix } from "../fleet/matrix/matrix.ts";
import { parseComputeValue, parseMarchValue } from "../fleet/matrix/values.ts";
import { sortedEntries } from "../oci/text-order.ts";
import type { Cell, CellValues } from "../fleet/cells/cell.ts";
import { isExcluded, makeCell } from "../fleet/cells/expand.ts";
import { whyImpossible } from "../fleet/cells/impossible.ts";

export interface Extras {
  /** Compute capabilities of a class's GPUs. */
  readonly computes: readonly string[];
  readonly marches: readonly string[];
}

/** Cells by id. */
export type CandidateMap = ReadonlyMap<string, Cell>;

/**
 * By id: every combination of the matrix's hardware values that can be built and that no `exclude` forbids, and its includes. Free axes,
 * which no host decides, have the first values that are allowed. `extras` are values of compute capability and march beside the matrix's.
 */
export function candidateCells(matrix: Matrix, extras?: Extras): CandidateMap {
  const at = { file: matrix.file };
  const values = matrix.axes.flatMap((axis): readonly AxisValue[] => axis.values);
  const extraCompute =
    extras === undefined || extras.computes.length === 0 ? null : parseComputeValue([...extras.computes], at);
  const cudas = values.filter((value): value is CudaValue => value.kind === "cuda");
  const computes = [
    ...values.filter((value): value is ComputeValue => value.kind === "compute"),
    ...(extraCompute !== null && "value" in extraCompute ? [extraCompute.value] : []),
  ];
  const marches = [
    ...values.filter((value): value is MarchValue => value.kind === "march"),
    ...(extras?.marches ?? []).flatMap((name) => {
      const parsed = parseMarchValue(name, at);
      return "value" in parsed ? [parsed.value] : [];
    }),
  ];
  const frees = freeValues(matrix);
  const product = orNull(cudas).flatMap((cuda) =>
    (cuda === null || cuda.toolkit === null ? [null] : computes).flatMap((compute) =>
      orNull(marches).flatMap((march) => {
        const each = frees.map((free) => makeCell(matrix, { ...free, ...given({ cuda, compute, march }) }));
        return each.find((cell) => !isExcluded(cell, matrix)) ?? [];
      }),
    ),
  );
  const included = matrix.include.map(({ values }) => makeCell(matrix, values));
  const possible = [...product, ...included].filter((cell) => whyImpossible(cell, matrix) === null);
  return new Map(sortedEntries(Object.fromEntries(possible.map((cell) => [cell.id, cell]))));
}

function orNull<Value>(values: readonly Value[]): readonly (Value | null)[] {
  return values.length === 0 ? [null] : values;
}

/** Axes that the matrix does not have stay out. */
function given(values: Readonly<Record<string, AxisValue | null>>): CellValues {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}

/** Every combination; one of nothing where there is no free axis. */
function freeValues({ axes }: Matrix): readonly CellValues[] {
  return axes.reduce<readonly CellValues[]>(
    (all, axis) =>
      axis.kind === "free"
        ? all.flatMap((each) => axis.values.map((value) => ({ ...each, [axis.name]: value })))
        : all,
    [{}],
  );
}

/** The axes of a cell with each combination of the matrix's free values, less those that its `exclude` forbids. */
export function everyFree(
  matrix: Matrix,
  { cuda, compute, march }: Pick<Cell, "cuda" | "compute" | "march">,
): readonly Readonly<Record<string, string>>[] {
  const axes = new Set(matrix.axes.map(({ name }) => name));
  const hardware = Object.entries({ cuda, compute, march }).filter(([name]) => axes.has(name));
  return freeValues(matrix)
    .map((free) => makeCell(matrix, { ...free, ...given(Object.fromEntries(hardware)) }))
    .filter((cell) => !isExcluded(cell, matrix))
    .map((cell) => cell.axes);
}
