/** The cost of images, as far as the lock says: their size in the registry, and the time of their builds. */

import { sum } from "../io/collections.ts";
import type { LockedImage } from "../lock/lock.ts";

export interface FleetCost {
  readonly images: number;
  /** Their compressed size in the registry; a layer that several of them have counts once. null if none is known. */
  readonly registryBytes: number | null;
  /** Images of which the lock does not have that. */
  readonly unsized: number;
  /** The sum of their builds, as each took by the clock, in tenths; null where none is known. */
  readonly buildMinutes: number | null;
  /** Images of which the lock does not have that. */
  readonly untimed: number;
}

/** Of images that nobody has built. */
export interface EstimatedCost extends FleetCost {
  /** Cells that were built and stand for them: those of the same kind that differ in the fewest axes. */
  readonly after: readonly string[];
}

/** The figures of a lock about images that are built, by cell. */
export type Figures = Readonly<Record<string, Pick<LockedImage, "axes" | "blobs" | "buildSeconds">>>;

/**
 * Of these cells.
 *
 * @param beside cells that stay: a layer that they have, too, is not counted
 */
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

/** No images cost nothing, and images of which nothing is known something. */
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
 * Of cells with these axes, none of which was built: each as the mean of the cells nearest to it. Nobody knows which layers they will
 * share, so each counts with all its layers: their bytes are the most that it is likely to be.
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

/** With GPU code or without, as they: an image without a toolkit says nothing of one that has it. */
function nearestTo<Known extends { readonly axes: LockedImage["axes"] }>(
  axes: LockedImage["axes"],
  known: readonly Known[],
): readonly Known[] {
  const alike = known
    .filter((one) => isGpu(one.axes) === isGpu(axes))
    .map((one) => ({ one, far: distance(one.axes, axes) }));
  const least = Math.min(...alike.map(({ far }) => far));
  return alike.filter(({ far }) => far === least).map(({ one }) => one);
}

function isGpu({ cuda = none }: LockedImage["axes"]): boolean {
  return cuda !== none;
}

function distance(one: LockedImage["axes"], other: LockedImage["axes"]): number {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => (one[name] ?? none) !== (other[name] ?? none)).length;
}

const none = "none";

function figureOf(figures: Figures, cell: string): Figures[string] | undefined {
  return Object.hasOwn(figures, cell) ? figures[cell] : undefined;
}
