/** The cost of images: size in the registry, and time of the builds, by the lock. */

import { none } from "../fleet/matrix/values.ts";
import { sum } from "../io/collections.ts";
import type { LockedImage } from "../lock/lock.ts";

export interface FleetCost {
  readonly images: number;
  /** Compressed size in the registry. A layer of several images counts once. null if no size is known. */
  readonly registryBytes: number | null;
  /** Images of unknown size. */
  readonly unsized: number;
  /** The sum of the times of their builds, in tenths of a minute; null if no time is known. */
  readonly buildMinutes: number | null;
  /** Images of unknown build time. */
  readonly untimed: number;
}

/** The cost of images that nobody has built. */
export interface EstimatedCost extends FleetCost {
  /** The built cells that the estimate comes from: of the same kind, and different in the fewest axes. */
  readonly after: readonly string[];
}

/** Sizes, build times and bytes of code of built images, by cell. */
export type Figures = Readonly<Record<string, Pick<LockedImage, "axes" | "blobs" | "buildSeconds" | "code">>>;

/** @param beside other cells, whose layers do not count */
export function costOf(
  cells: readonly string[],
  figures: Figures,
  beside: readonly string[] = [],
): FleetCost {
  const known = cells.flatMap((cell) => figureOf(figures, cell) ?? []);
  const stored = known.flatMap(({ blobs }) => (blobs === undefined ? [] : [blobs]));
  const times = known.flatMap(({ buildSeconds }) => buildSeconds ?? []);
  const others = new Set(beside.flatMap((cell) => Object.keys(figureOf(figures, cell)?.blobs ?? {})));
  const sizes = new Map(stored.flatMap((blobs) => Object.entries(blobs)));
  const bytes = [...sizes].map(([blob, size]) => (others.has(blob) ? 0 : size));
  return costFrom(cells.length, bytes, stored.length, times);
}

/** No images cost 0. The cost of images without a known figure is null. */
function costFrom(
  images: number,
  bytes: readonly number[],
  sized: number,
  seconds: readonly number[],
): FleetCost {
  return {
    images,
    registryBytes: images > 0 && sized === 0 ? null : Math.round(sum(bytes)),
    unsized: images - sized,
    buildMinutes: images > 0 && seconds.length === 0 ? null : Math.round(sum(seconds) / 6) / 10,
    untimed: images - seconds.length,
  };
}

/**
 * Estimates each cell as the mean of the built cells nearest to it. Nobody knows which layers new cells will share, so each cell counts all
 * its layers: the estimate is an upper bound.
 */
export function estimateCost(wanted: readonly LockedImage["axes"][], figures: Figures): EstimatedCost {
  const after = new Set<string>();
  const estimate = (read: (figure: Figures[string]) => number | undefined) => {
    const known = Object.entries(figures).flatMap(([cell, figure]) => {
      const value = read(figure);
      return value === undefined ? [] : [{ cell, value, axes: figure.axes }];
    });
    return wanted.flatMap((axes) => {
      const nearest = nearestTo(axes, known);
      for (const { cell } of nearest) after.add(cell);
      return nearest.length === 0 ? [] : sum(nearest.map(({ value }) => value)) / nearest.length;
    });
  };
  const bytes = estimate(({ blobs }) => blobs && sum(Object.values(blobs)));
  const seconds = estimate(({ buildSeconds }) => buildSeconds);
  const cost = costFrom(wanted.length, bytes, bytes.length, seconds);
  return { ...cost, after: [...after].sort() };
}

/** A cell with GPU code is compared with cells with GPU code, and a CPU cell with CPU cells. */
function nearestTo<Known extends { readonly axes: LockedImage["axes"] }>(
  axes: LockedImage["axes"],
  known: readonly Known[],
): readonly Known[] {
  const alike = known
    .filter((one) => isGpu(one.axes) === isGpu(axes))
    .map((one) => ({ one, far: differentAxes(one.axes, axes) }));
  const least = Math.min(...alike.map(({ far }) => far));
  return alike.filter(({ far }) => far === least).map(({ one }) => one);
}

function isGpu({ accel, cuda = accel ?? none }: LockedImage["axes"]): boolean {
  return cuda !== none;
}

/** The number of axes with different values. A missing axis has the value `none`. */
export function differentAxes(one: LockedImage["axes"], other: LockedImage["axes"]): number {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => (one[name] ?? none) !== (other[name] ?? none)).length;
}

function figureOf(figures: Figures, cell: string): Figures[string] | undefined {
  return Object.hasOwn(figures, cell) ? figures[cell] : undefined;
}
