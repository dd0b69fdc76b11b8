/** Arranges images as a table: one axis across, and every combination of the others down. */

import { remember } from "../../io/collections.ts";
import type { CoveredImage } from "../image-use.ts";

export interface FleetMap {
  /** The axis of the columns; null if no axis has two values. */
  readonly across: string | null;
  /** The axes that can stand across. */
  readonly varied: readonly string[];
  readonly columns: readonly string[];
  /** The axes of the rows. */
  readonly down: readonly string[];
  readonly rows: readonly MapRow[];
  /** Axes with the same value for all images. */
  readonly same: readonly (readonly [axis: string, value: string])[];
}

interface MapRow {
  readonly values: readonly string[];
  /** The images of each column. A cell has several if axes do not tell images apart. */
  readonly cells: readonly (readonly CoveredImage[])[];
}

/** The value of an axis that an image lacks. */
export const noValue = "–";

/** @param across the axis of the columns; an unknown one is replaced */
export function mapFleet(images: readonly CoveredImage[], across: string | null = null): FleetMap {
  const values = valuesByAxis(images);
  const varied = [...values].filter(([, all]) => all.length > 1).map(([axis]) => axis);
  const chosen = across !== null && varied.includes(across) ? across : chooseAcross(values, varied);
  const down = varied.filter((axis) => axis !== chosen);
  const columns = chosen === null ? [""] : (values.get(chosen) ?? []);
  const rows = new Map<string, { readonly values: readonly string[]; readonly cells: CoveredImage[][] }>();
  for (const image of images) {
    const rowValues = down.map((axis) => valueAt(image, axis));
    const row = remember(rows, JSON.stringify(rowValues), () => ({
      values: rowValues,
      cells: columns.map(() => []),
    }));
    row.cells[chosen === null ? 0 : columns.indexOf(valueAt(image, chosen))]?.push(image);
  }
  return {
    across: chosen,
    varied,
    columns,
    down,
    rows: [...rows.values()].sort((a, b) => compareLists(a.values, b.values)),
    same: [...values].flatMap(([axis, [value = noValue, ...more]]) =>
      more.length === 0 ? [[axis, value] as const] : [],
    ),
  };
}

/** Prefers axes that fit a screen, then `compute`, then the axis with the most values. */
function chooseAcross(
  values: ReadonlyMap<string, readonly string[]>,
  varied: readonly string[],
): string | null {
  const count = (axis: string) => values.get(axis)?.length ?? 0;
  const [best = null] = [...varied].sort(
    (a, b) =>
      Number(count(a) > mostColumns) - Number(count(b) > mostColumns) ||
      Number(b === "compute") - Number(a === "compute") ||
      (count(a) > mostColumns ? count(a) - count(b) : count(b) - count(a)),
  );
  return best;
}

const mostColumns = 12;

/** Hardware axes first. The platform counts as an axis. */
const order = ["platform", "accel", "cuda", "compute", "march"];

function valuesByAxis(images: readonly CoveredImage[]): ReadonlyMap<string, readonly string[]> {
  const names = new Set(images.flatMap(({ axes }) => Object.keys(axes)));
  const free = [...names].filter((axis) => !order.includes(axis)).sort();
  const all = ["platform", ...order.slice(1).filter((axis) => names.has(axis)), ...free];
  return new Map(
    all.map((axis) => [axis, [...new Set(images.map((image) => valueAt(image, axis)))].sort(compareValues)]),
  );
}

function valueAt({ axes, platform }: CoveredImage, axis: string): string {
  if (Object.hasOwn(axes, axis)) return axes[axis] ?? noValue;
  return axis === "platform" ? platform : noValue;
}

/** Compares numbers in texts as numbers. `none` comes last. */
export function compareValues(a: string, b: string): number {
  const last = (value: string) => Number(value === "none" || value === noValue);
  return last(a) - last(b) || collator.compare(a, b) || (a < b ? -1 : Number(a > b));
}

const collator = new Intl.Collator("en", { numeric: true });

function compareLists(a: readonly string[], b: readonly string[]): number {
  for (const [index, value] of a.entries()) {
    const difference = compareValues(value, b[index] ?? "");
    if (difference !== 0) return difference;
  }
  return 0;
}
