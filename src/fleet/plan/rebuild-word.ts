/** The word by which images were built anew though nothing else changed: an input of its own, so that tags stay true. */

import { usageError } from "../../errors.ts";
import { type LockPins, rebuildWord } from "../../lock/lock.ts";
import { compareText } from "../../oci/text-order.ts";
import type { Cell } from "../cells/cell.ts";

/**
 * The word of a cell: the one that is asked for; else the one that the lock says it was built by, so that the next build does not go back;
 * and for a cell that the lock does not have the last one, in the order of texts, of the others: its steps are to be as new as theirs. Null
 * where there is none. Throws `USAGE` for what can be no word.
 */
export function rebuildsOf(lock: LockPins | null, asked: string | undefined): (cell: Cell) => string | null {
  if (asked !== undefined && !rebuildWord.test(asked)) {
    throw usageError(
      `${JSON.stringify(asked)} is no word for a rebuild`,
      "write --no-cache=2026-W47: at most 64 letters, digits and . _ : -",
    );
  }
  const images = lock?.images ?? {};
  const words = Object.values(images).flatMap(({ inputs }) => inputs?.rebuild ?? []);
  const last = words.sort(compareText).at(-1) ?? null;
  return ({ id }) => {
    if (asked !== undefined) return asked;
    return Object.hasOwn(images, id) ? (images[id]?.inputs?.rebuild ?? null) : last;
  };
}
