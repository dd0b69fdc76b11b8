/** Writes the suggested cells as a matrix: the original one with exactly these cells. */

import { usageError } from "../errors.ts";
import { expandMatrix } from "../fleet/cells/expand.ts";
import type { Matrix } from "../fleet/matrix/matrix.ts";
import { parseMatrix } from "../fleet/matrix/parse-matrix.ts";
import { withCells } from "../fleet/matrix/with-cells.ts";
import { plannedFleet } from "./cover-fleet.ts";
import type { Suggestion } from "./suggestion.ts";

/** A matrix and its text. */
export interface PlannedMatrix {
  readonly matrix: Matrix;
  readonly text: string;
}

/**
 * Answers with the text of `file`. Each cell stands once for each combination of free values.
 * Throws `USAGE` if no matrix has exactly these cells.
 */
export function suggestedMatrix(
  file: string,
  { matrix, text }: PlannedMatrix,
  { cells }: Suggestion,
): string {
  const wanted = cells.flatMap(({ every, hosts, classes }) =>
    every.map((axes) => ({ axes, reason: `${hosts} hosts: ${classes.join(", ")}` })),
  );
  const keyOf = (axes: Readonly<Record<string, string>>) => JSON.stringify(Object.entries(axes).sort());
  const excluded = new Set(
    expandMatrix(matrix).flatMap(({ cell, skipped }) =>
      skipped?.why === "excluded" ? [keyOf(cell.axes)] : [],
    ),
  );
  const edited = withCells(text, matrix, wanted, (axes) => excluded.has(keyOf(axes)));
  requireCells({ ...parseMatrix(edited, file), version: matrix.version }, wanted.length);
  return edited;
}

/** `exclude` cannot tell marches of one name apart that differ in `without`. */
function requireCells(matrix: Matrix, cells: number): void {
  const found = Object.keys(plannedFleet(matrix).lock.images).length;
  if (found === cells) return;
  throw usageError(
    `the matrix cannot list exactly these ${cells} cells: it would have ${found}`,
    "give marches with different without: lists different labels",
  );
}
