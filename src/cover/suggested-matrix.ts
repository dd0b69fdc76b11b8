/** A suggestion as a matrix: the one that it was made from, with just its cells. Pure. */

import { usageError } from "../errors.ts";
import type { Matrix } from "../fleet/matrix/matrix.ts";
import { parseMatrix } from "../fleet/matrix/parse-matrix.ts";
import { withCells } from "../fleet/matrix/with-cells.ts";
import { plannedFleet } from "./planned-fleet.ts";
import type { Suggestion } from "./suggestion.ts";

/** A matrix and its text. */
export interface PlannedMatrix {
  readonly matrix: Matrix;
  readonly text: string;
}

/**
 * The text of `file`. Free axes, which no host decides, stay whole: each cell stands once for each of their combinations.
 * Throws `USAGE` where no matrix has just these cells.
 */
export function suggestedMatrix(
  file: string,
  { matrix, text }: PlannedMatrix,
  { cells }: Suggestion,
): string {
  const wanted = cells.flatMap(({ every, hosts, classes }) =>
    every.map((axes) => ({ axes, reason: `${hosts} hosts: ${classes.join(", ")}` })),
  );
  const edited = withCells(text, matrix, wanted);
  requireCells({ ...parseMatrix(edited, file), version: matrix.version }, wanted.length);
  return edited;
}

/** Marches of one name, told apart by what they leave out, are one to `exclude`. */
function requireCells(matrix: Matrix, cells: number): void {
  const found = Object.keys(plannedFleet(matrix).lock.images).length;
  if (found === cells) return;
  throw usageError(
    `the matrix cannot list exactly these ${cells} cells: it would have ${found}`,
    "give marches with different without: lists different labels",
  );
}
