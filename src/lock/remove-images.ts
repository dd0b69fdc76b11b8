/** Taking images out of a lock by name: the next build makes them again, where a matrix does. */

import { type Problem, throwProblems } from "../errors.ts";
import { isAdopted, namesOf } from "./adopted-lock.ts";
import type { Lock } from "./lock.ts";
import { readLock } from "./lock-file.ts";
import { updateLock } from "./update-lock.ts";

/** {@link withoutImages} for the lock on disk: answers the cells, sorted. Throws too what reading and writing throw. */
export async function removeImages(file: string, cells: readonly string[]): Promise<readonly string[]> {
  const known = await readLock(file);
  await updateLock(file, (lock) => withoutImages(lock ?? known, cells, file));
  return [...new Set(cells)].sort();
}

/** Throws `CELL_NOT_FOUND` for every cell that the lock does not have; then nothing is removed. */
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
