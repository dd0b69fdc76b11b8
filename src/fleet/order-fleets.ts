/** The fleets of a workspace in the order in which they are built: each behind those that it is built on. */

import { join, dirname, normalize } from "node:path";
import { ImgmatchError, type Place, type Problem, throwProblems } from "../errors.ts";
import { inputLimits } from "../io/limits.ts";
import { readTextFile } from "../io/files.ts";
import type { Located } from "./matrix/matrix.ts";
import { parseMatrix } from "./matrix/parse-matrix.ts";
import { mistake } from "./matrix/unsafe-text.ts";

/** Else in the order that they have. A matrix with mistakes is ordered by none. Throws `MATRIX_SCHEMA` for fleets that are built on each other. */
export async function orderFleets(matrices: readonly string[]): Promise<readonly string[]> {
  const parents = new Map(
    await Promise.all(matrices.map(async (file) => [file, await parentsOf(file)] as const)),
  );
  const ordered = new Set<string>();
  const visit = (file: string, above: readonly string[]): void => {
    const line = [...above, file];
    for (const { value, at } of parents.get(file) ?? []) {
      if (line.includes(value)) throwProblems([fleetCircle([...line, value], at)]);
      if (!ordered.has(value) && parents.has(value)) visit(value, line);
    }
    ordered.add(file);
  };
  for (const file of matrices) visit(file, []);
  return [...ordered];
}

/** @param line the matrices, each of which builds on the next; the last is one of those before */
export function fleetCircle(line: readonly string[], at: Place): Problem {
  return mistake(
    `fleets are built on each other: ${line.join(" → ")}`,
    "take one fleet: out of this circle",
    at,
  );
}

async function parentsOf(file: string): Promise<readonly Located<string>[]> {
  try {
    const { parents } = parseMatrix(await readTextFile(file, inputLimits.matrix), file);
    return Object.values(parents).map(({ file: { value, at } }) => ({
      value: normalize(join(dirname(file), value)),
      at,
    }));
  } catch (error) {
    // The command says what is wrong with it.
    if (error instanceof ImgmatchError) return [];
    throw error;
  }
}
