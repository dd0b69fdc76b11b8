/** What images cost as far as the lock says. */

import type { LockedImage } from "../lock/lock.ts";

export interface FleetCost {
  readonly images: number;
  /** The sum of the sizes that are known, as the engines that built them count; null where none is. */
  readonly bytes: number | null;
  /** Images whose size the lock does not have. */
  readonly unsized: number;
  /** null: no lock says how long a build took. */
  readonly buildMinutes: null;
}

/** Sizes of images that are built, by cell. */
export type Figures = Readonly<Record<string, Pick<LockedImage, "size">>>;

/** Of these cells. */
export function costOf(cells: readonly string[], figures: Figures): FleetCost {
  const sizes = cells.flatMap((cell) => (Object.hasOwn(figures, cell) ? (figures[cell]?.size ?? []) : []));
  return {
    images: cells.length,
    bytes: sizes.length === 0 ? null : sizes.reduce((sum, size) => sum + size, 0),
    unsized: cells.length - sizes.length,
    buildMinutes: null,
  };
}
