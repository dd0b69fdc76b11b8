/** References of build caches; with `{cell}` each cell has its own. */

import { createHash } from "node:crypto";
import { usageError } from "../../errors.ts";
import { parseImageReference } from "../../oci/reference.ts";

export interface CacheOptions {
  /** References to read, for example `registry.example.com/cache:{cell}`. */
  readonly from: readonly string[];
  /** References to write, or `inline` for cache inside the images themselves. */
  readonly to: readonly string[];
}

export const noCache: CacheOptions = { from: [], to: [] };
export const inlineCache = "inline";

export function checkCache({ from, to }: CacheOptions): void {
  for (const reference of [...from, ...to.filter((one) => one !== inlineCache)]) {
    try {
      parseImageReference(cacheReference(reference, "cell"));
    } catch {
      throw usageError(
        `${JSON.stringify(reference)} is not the reference of a build cache`,
        "write registry.example.com/cache:{cell}, with {cell} for a cache for each cell",
      );
    }
  }
}

export function cacheReference(pattern: string, cell: string): string {
  return pattern.replaceAll("{cell}", tagPart(cell));
}

/** A cache that all cells would write. */
export function isShared(reference: string): boolean {
  return reference !== inlineCache && !reference.includes("{cell}");
}

/** The references that one cell writes. A cache without `{cell}` is written by the first cell that asks, and by no later cell. */
export function createCacheTargets({ to }: CacheOptions): (cell: string) => readonly string[] {
  const shared = new Set(to.filter(isShared));
  return (cell) =>
    to
      .filter((reference) => !isShared(reference) || shared.delete(reference))
      .map((reference) => cacheReference(reference, cell));
}

/** The cell's id as a part of a tag; a changed or long one ends with a hash, so that no two cells meet. */
function tagPart(cell: string): string {
  const safeName = cell.replace(/[^A-Za-z0-9._-]/g, "-").slice(0, 90);
  if (safeName === cell) return cell;
  return `${safeName}-${createHash("sha256").update(cell).digest("hex").slice(0, 8)}`;
}
