/** Places each column in the new matrix: as a setting of the matrix, of one axis's values, or as cases over several axes. */

import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import { gpuAxes, vendorOfTarget } from "../matrix/gpu-axes.ts";
import { type Column, type Combination, decidingAxes, type Factor, grouped } from "./columns.ts";

/** The content of a new `matrix.yaml`. */
export interface DerivedMatrix extends Settings {
  readonly axes: Readonly<Record<string, readonly AxisValue[]>>;
  readonly values: Readonly<Record<string, readonly Case[]>>;
  readonly exclude: readonly Combination[];
}

/** Settings of the matrix, of a value, or of a case. */
interface Settings {
  template?: string;
  context?: string;
  contexts?: Record<string, string>;
  target?: string;
  runner?: string | readonly string[];
  args?: Record<string, string>;
}

type AxisValue = string | readonly string[] | (Settings & Readonly<Record<string, unknown>>);
type Case = Settings & { readonly when?: Combination; readonly value?: string };

export interface Axis {
  readonly name: string;
  readonly factor: Factor;
  /** A label for each class of the factor. */
  readonly labels: readonly string[];
  /** The column whose texts are the labels; null for invented labels. */
  readonly column: string | null;
}

/** Names with a meaning in a matrix or a template. */
const taken = new Set(
  "platform cuda compute march gpu accel rocm name version repository cell architecture base axes args inputs runner".split(
    " ",
  ),
);

/** The name, with a number behind it if it is taken. */
export function freeName(wanted: string, used: Iterable<string>): string {
  const all = new Set([...taken, ...used]);
  for (let number = 1; ; number++) {
    const name = number === 1 ? wanted : `${wanted}${number}`;
    if (!all.has(name)) return name;
  }
}

/** `UBUNTU_VERSION` → `ubuntu` */
export function axisNameFor(argument: string): string {
  const name = argument
    .toLowerCase()
    .replace(/_version$/, "")
    .replace(/[^a-z0-9_]/g, "_");
  return /^[a-z]/.test(name) ? name : `axis_${name}`;
}

/**
 * @param compute lists of GPU code as JSON; null without a CUDA axis
 * @param given arguments of the matrix that need no column
 */
export function settleColumns(
  columns: readonly Column[],
  axes: readonly Axis[],
  compute: Column | null,
  given: Readonly<Record<string, string>>,
): DerivedMatrix {
  const own: Settings = {};
  const brought = new Map<Axis, readonly Settings[]>();
  const values: Record<string, readonly Case[]> = {};
  for (const column of columns) {
    const [first = null] = column.cells;
    const deciding = decidingOf(axes, column);
    const [axis] = deciding;
    const named = axes.find((each) => each.column === column.name && isItsLabel(each, column));
    if (axis === undefined) put(own, column.name, first);
    else if (named !== undefined) put(own, column.name, `{{${named.name}}}`);
    else if (deciding.length === 1) brought.set(axis, bringing(axis, column, brought.get(axis)));
    else {
      const name = freeName(axisNameFor(column.name.replace(/^arg:/, "")), [
        ...axes.map((each) => each.name),
        ...Object.keys(values),
      ]);
      const isText =
        column.name.startsWith("arg:") && column.cells.every((text) => text !== null && text !== "");
      values[name] = casesOf(deciding, column).map((each) => caseOf(each, column.name, isText));
      if (isText) put(own, column.name, `{{${name}}}`);
    }
  }
  const listed = axes.map((axis): [string, readonly AxisValue[]] => [
    axis.name,
    valuesOf(axis, brought.get(axis) ?? []),
  ]);
  const gpus: [string, readonly AxisValue[]][] =
    compute === null ? [] : [["compute", computeValues(axes, compute)]];
  // A matrix needs a template even if each value has another.
  const template = own.template ?? columns.find(({ name }) => name === "template")?.cells[0] ?? "Dockerfile";
  return {
    ...own,
    template,
    args: { ...own.args, ...given },
    // compute follows cuda, which is first.
    axes: Object.fromEntries([...listed.slice(0, 1), ...gpus, ...listed.slice(1)]),
    values,
    exclude: exclusions(axes),
  };
}

/** The axes that decide a column; none for a column with one text. */
function decidingOf(axes: readonly Axis[], column: Column): readonly Axis[] {
  const factors = axes.map(({ factor }) => factor);
  const deciding = decidingAxes(factors, column);
  return axes.filter(({ factor }) => deciding.includes(factor));
}

function bringing(axis: Axis, column: Column, before: readonly Settings[] | undefined): readonly Settings[] {
  const all = before ?? axis.labels.map(() => ({}));
  for (const [number, settings] of all.entries())
    put(settings, column.name, column.cells[axis.factor.classes.indexOf(number)] ?? null);
  return all;
}

/** A case with a text that arguments name, or with the setting itself. */
function caseOf(
  { when, text }: { readonly when?: Combination; readonly text: string | null },
  column: string,
  isText: boolean,
): Case {
  const settings: Settings = {};
  if (!isText) put(settings, column, text);
  const value = isText ? text : text === null ? "default" : null;
  return { ...(when && { when }), ...(value !== null && { value }), ...settings };
}

/** The last case, for the most frequent text, has no condition: it applies if no other does. */
function casesOf(
  deciding: readonly Axis[],
  { cells }: Column,
): readonly { readonly when?: Combination; readonly text: string | null }[] {
  const counts = new Map<string | null, number>();
  for (const text of cells) counts.set(text, (counts.get(text) ?? 0) + 1);
  const texts = [...counts].sort(([, one], [, other]) => one - other).map(([text]) => text);
  return texts.flatMap((text, index) => {
    if (index === texts.length - 1) return [{ text }];
    const rows = [...cells.keys()].filter((row) => cells[row] === text);
    const names = deciding.map(({ name }) => name);
    const combinations = rows.map((row) => deciding.map((axis) => labelAt(axis, row)));
    return grouped(names, combinations).map((when) => ({ when, text }));
  });
}

/** Stands in compute for GPU targets that the user has to write. */
export const unknownTargets = "unknown";

const computeLabels: Readonly<Record<GpuVendor, string>> = { nvidia: "all", amd: "all-amd" };

/** A value for each vendor. */
function computeValues(axes: readonly Axis[], column: Column): readonly AxisValue[] {
  return gpuVendors.flatMap((vendor) => {
    const cells = column.cells.map((text) =>
      text !== null && vendorOfTarget(listOf(text)[0] ?? "") === vendor ? text : null,
    );
    return targetsOf(axes, { ...column, cells }, computeLabels[vendor]);
  });
}

function listOf(text: string): readonly string[] {
  return JSON.parse(text) as readonly string[];
}

/** One list for all, or a value with cases if other axes decide the list. None without a list. */
function targetsOf(axes: readonly Axis[], column: Column, label: string): readonly AxisValue[] {
  const lists = column.cells.flatMap((text) => (text === null ? [] : [text]));
  const [only] = lists;
  if (only === undefined) return [];
  if (lists.every((text) => text === only)) return [{ label, value: listOf(only) }];
  // Other rows have no such compute, so any list fits.
  const filled = { ...column, cells: column.cells.map((text) => text ?? only ?? null) };
  const cases = casesOf(decidingOf(axes, filled), filled).map(({ when, text }) => ({
    ...(when && { when }),
    value: listOf(text ?? "[]"),
  }));
  return [{ label, cases }];
}

function valuesOf(axis: Axis, brought: readonly Settings[]): readonly AxisValue[] {
  return axis.labels.map((label, index): AxisValue => {
    const settings = brought[index] ?? {};
    const key = gpuVendors
      .map((vendor) => gpuAxes[vendor].key)
      .find((each) => axis.name === "accel" && label.startsWith(`${each}-`));
    if (key !== undefined) return { [key]: label.slice(key.length + 1), ...settings };
    return Object.keys(settings).length === 0 ? label : { [keyOf(axis.name)]: label, ...settings };
  });
}

function keyOf(axis: string): string {
  return { cuda: "toolkit", platform: "platform", accel: "accel" }[axis] ?? "value";
}

/** Excludes pairs of values that never occur together, then the other missing combinations. */
function exclusions(axes: readonly Axis[]): readonly Combination[] {
  const rows = axes[0]?.factor.classes ?? [];
  const all = rows.map((_, row) => axes.map((axis) => labelAt(axis, row)));
  const exists = new Set(all.map((row) => JSON.stringify(row)));
  const product = axes.reduce<readonly (readonly string[])[]>(
    (some, { labels }) => some.flatMap((row) => labels.map((label) => [...row, label])),
    [[]],
  );
  let unexcluded = product.filter((row) => !exists.has(JSON.stringify(row)));
  const rules: Combination[] = [];
  for (const [first, one] of axes.entries()) {
    for (const [second, other] of axes.entries()) {
      if (second <= first) continue;
      const seen = new Set(all.map((row) => JSON.stringify([row[first], row[second]])));
      const isMissing = (row: readonly string[]) => !seen.has(JSON.stringify([row[first], row[second]]));
      const missing = unexcluded.filter(isMissing).map((row) => [row[first] ?? "", row[second] ?? ""]);
      unexcluded = unexcluded.filter((row) => !isMissing(row));
      rules.push(...grouped([one.name, other.name], missing));
    }
  }
  const names = axes.map(({ name }) => name);
  return [...rules, ...grouped(names, unexcluded)].map((rule) => ({
    ...rule,
    reason: "not among the original builds",
  }));
}

function labelAt({ factor, labels }: Axis, row: number): string {
  return labels[factor.classes[row] ?? 0] ?? "";
}

function isItsLabel(axis: Axis, { cells }: Column): boolean {
  return cells.every((text, row) => text === labelAt(axis, row));
}

/** Puts a column's text into settings; null changes nothing. */
function put(settings: Settings, column: string, text: string | null): void {
  if (text === null) return;
  if (column === "contexts") settings.contexts = JSON.parse(text) as Record<string, string>;
  else if (column === "runner") {
    const labels = listOf(text);
    settings.runner = labels.length === 1 ? (labels[0] ?? "") : labels;
  } else if (column === "template" || column === "target" || column === "context") settings[column] = text;
  else {
    settings.args ??= {};
    settings.args[column.replace(/^arg:/, "")] = text;
  }
}
