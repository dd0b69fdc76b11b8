/** Taking images out of a lock by name, so that they are built again. */

import { type Problem, throwProblems } from "../errors.ts";
import type { Lock } from "./lock.ts";

/** Throws `CELL_NOT_FOUND` for every cell that the lock does not have; then nothing is removed. */
export function withoutImages(lock: Lock, cells: readonly string[], file: string): Lock {
  const unknown = [...new Set(cells)].filter((cell) => !Object.hasOwn(lock.images, cell));
  throwProblems(
    unknown.map(
      (cell): Problem => ({
        code: "CELL_NOT_FOUND",
        message: `the lock has no cell ${JSON.stringify(cell)}`,
        fix: "imgmatch plan lists the cells; what the lock does not have is built anyway",
        at: { file },
      }),
    ),
  );
  const kept = Object.entries(lock.images).filter(([cell]) => !cells.includes(cell));
  return { ...lock, images: Object.fromEntries(kept) };
}
