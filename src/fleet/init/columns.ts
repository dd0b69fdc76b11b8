/** Finds the axes in a table of builds: a row is a build, a column is something in which builds may differ. */

import { groupBy, remember } from "../../io/collections.ts";

export interface Column {
  /** `platform`, `target`, `arg:UBUNTU_VERSION`. */
  readonly name: string;
  /** A text for each row; null if the row has none. */
  readonly cells: readonly (string | null)[];
}

/** Columns that vary together, so that each decides the others. Rows with equal texts in them form a class. */
export interface Factor {
  /** The number of each row's class, counted by first appearance. */
  readonly classes: readonly number[];
  /** The number of classes. */
  readonly size: number;
  readonly columns: readonly Column[];
}

export function factorOf(columns: readonly Column[]): Factor {
  const numbers = new Map<string, number>();
  const rows = columns[0]?.cells.length ?? 0;
  const classes = Array.from({ length: rows }, (_, row) => {
    const key = JSON.stringify(columns.map(({ cells }) => cells[row]));
    return remember(numbers, key, () => numbers.size);
  });
  return { classes, size: numbers.size, columns };
}

/** Groups the columns that vary together. Columns with one text in every row are left out. */
export function factorsOf(columns: readonly Column[]): readonly Factor[] {
  const varying = columns.map((column) => factorOf([column])).filter(({ size }) => size > 1);
  const alike = groupBy(varying, ({ classes }) => classes.join());
  return [...alike.values()].map((factors) => factorOf(factors.flatMap((factor) => factor.columns)));
}

/** True if rows that agree in all of `factors` agree in `classes`. */
function decides(factors: readonly Factor[], classes: readonly number[]): boolean {
  const seen = new Map<string, number>();
  return classes.every((number, row) => {
    const key = factors.map((factor) => factor.classes[row]).join();
    return remember(seen, key, () => number) === number;
  });
}

/**
 * Chooses the axes: few factors that decide all others. Factors of `isFirst` come first, then the rest by size, so that a factor of two axes
 * becomes no axis. If two decide the same, the earlier one stays.
 */
export function chooseAxes(
  factors: readonly Factor[],
  isFirst: (factor: Factor) => boolean,
): readonly Factor[] {
  const ordered = [...factors].sort(
    (one, other) => Number(isFirst(other)) - Number(isFirst(one)) || one.size - other.size,
  );
  const chosen: Factor[] = [];
  for (const factor of ordered) if (!decides(chosen, factor.classes)) chosen.push(factor);
  const needed = chosen.reduce<readonly Factor[]>((kept, factor) => {
    const others = kept.filter((each) => each !== factor);
    return !isFirst(factor) && decides(others, factor.classes) ? others : kept;
  }, chosen);
  return joinSparse(needed, isFirst);
}

/** Joins two axes if at most half of their combinations exist: these become the values. */
function joinSparse(axes: readonly Factor[], isFirst: (factor: Factor) => boolean): readonly Factor[] {
  const free = axes.filter((axis) => !isFirst(axis));
  for (const [index, one] of free.entries()) {
    for (const other of free.slice(index + 1)) {
      const both = factorOf([...one.columns, ...other.columns]);
      if (both.size * 2 > one.size * other.size) continue;
      return joinSparse([...axes.filter((axis) => axis !== one && axis !== other), both], isFirst);
    }
  }
  return axes;
}

/** The fewest axes that decide a column, earlier ones preferred; all if no fewer do. */
export function decidingAxes(axes: readonly Factor[], { cells }: Column): readonly Factor[] {
  const { classes } = factorOf([{ name: "", cells }]);
  for (let number = 0; number < axes.length; number++) {
    const found = choose(axes, number).find((some) => decides(some, classes));
    if (found !== undefined) return found;
  }
  return axes;
}

function choose<Item>(items: readonly Item[], number: number): readonly (readonly Item[])[] {
  if (number === 0) return [[]];
  return items.flatMap((item, index) =>
    choose(items.slice(index + 1), number - 1).map((rest) => [item, ...rest]),
  );
}

/** A value for each axis, or a list of which any value fits. */
export type Combination = Readonly<Record<string, string | readonly string[]>>;

/**
 * Joins combinations that differ in one axis alone into one rule with a list.
 *
 * @param axes names, in the order of each combination's values
 */
export function grouped(
  axes: readonly string[],
  combinations: readonly (readonly string[])[],
): readonly Combination[] {
  const unique = new Map(combinations.map((values) => [JSON.stringify(values), values]));
  let rules = [...unique.values()].map((values) => values.map((value) => [value]));
  for (const position of axes.keys()) {
    const byRest = new Map<string, string[][]>();
    for (const rule of rules) {
      const key = JSON.stringify(rule.map((values, index) => (index === position ? null : values)));
      const empty = () => rule.map((values, index) => (index === position ? [] : values));
      remember(byRest, key, empty)[position]?.push(...(rule[position] ?? []));
    }
    rules = [...byRest.values()];
  }
  return rules.map((rule) =>
    Object.fromEntries(
      rule.map((values, index): [string, string | readonly string[]] => {
        const [only = ""] = values;
        return [axes[index] ?? "", values.length === 1 ? only : values];
      }),
    ),
  );
}
