/** Finds built cells that an index of their version lacks: nodes that read the index find no such image. */

import type { Problem } from "../../errors.ts";
import { count, firstOf } from "../../io/table.ts";
import type { FleetIndex } from "../../lock/fleet-index.ts";
import type { Lock } from "../../lock/lock.ts";
import { formatImageReference, type ImageReference } from "../../oci/reference.ts";
import { variantGroups } from "../cells/groups.ts";
import { versionTag } from "../cells/tag.ts";
import type { Plan } from "../plan/planned-cell.ts";

/** One `INDEX_INCOMPLETE` for an index that lacks some of these built cells. */
export function lackedCells(
  { entries }: Pick<FleetIndex, "entries">,
  built: readonly string[],
  reference: ImageReference,
  more = "",
): Problem[] {
  const lacking = built.filter((cell) => !entries.has(cell)).sort();
  if (lacking.length === 0) return [];
  return [
    {
      code: "INDEX_INCOMPLETE",
      message: `${formatImageReference(reference)} lacks ${count(lacking.length, "cell")} that the lock has as published: ${firstOf(lacking, 20)}`,
      fix: `run imgmatch publish, which adds them; where the index had them before, find out who replaced it${more}`,
    },
  ];
}

/** For a lock alone, which does not tell its retired cells. */
export const orPrune = "; a cell that the matrix has no more leaves the lock by imgmatch lock --prune";

/**
 * The cells that are published by the lock, under the tag of the index that must have them: the version's, and the variants'.
 *
 * @param plan tells the images that the next build keeps, under whatever version each was built, and the cells of each variant; null: every
 * image of the lock counts, and no variant is known
 */
export function publishedCells(lock: Lock, plan: Plan | null): ReadonlyMap<string, readonly string[]> {
  const idsOf = (cells: readonly { readonly id: string }[]) => cells.map(({ id }) => id);
  if (plan === null) {
    const published = Object.entries(lock.images).filter(([, { digest }]) => digest !== null);
    return new Map([[versionTag(lock), published.map(([id]) => id)]]);
  }
  const present = plan.cells.flatMap(({ cell, action, locked }) =>
    action === "keep" && locked !== null && locked.digest !== null ? [{ ...locked, id: cell.id }] : [],
  );
  // The lock's version: the matrix may have the next one already.
  const variants = variantGroups({ ...plan.matrix, version: lock.version }, present);
  return new Map([
    [versionTag(lock), idsOf(present)],
    ...variants.map(({ name, members }) => [name, idsOf(members)] as const),
  ]);
}
