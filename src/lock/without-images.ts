/** Removes images from a lock, so that the next build makes those of the matrix again. */

import { type Problem, throwProblems } from "../errors.ts";
import { isAdopted, namesOf } from "./adopted-lock.ts";
import type { Lock } from "./lock.ts";

/** Throws `CELL_NOT_FOUND` with every cell that the lock does not have. */
export function withoutImages(lock: Lock, cells: readonly string[], file: string): Lock {
  const unknown = [...new Set(cells)].filter((cell) => !Object.hasOwn(lock.images, cell));
  throwProblems(
    unknown.map(
      (cell): Problem => ({
        code: "CELL_NOT_FOUND",
        message: `the lock has no cell ${JSON.stringify(cell)}`,
        fix: isAdopted(lock)
          ? namesOf(lock)
          : "imgmatch plan lists the cells; what the lock does not have is built anyway",
        at: { file },
      }),
    ),
  );
  const kept = Object.entries(lock.images).filter(([cell]) => !cells.includes(cell));
  return { ...lock, images: Object.fromEntries(kept) };
}
