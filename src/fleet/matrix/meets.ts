/** Compares cells and values of axes with the patterns of `exclude`, `include`, `when` and `--only`. */

import { readPlatform } from "../../hardware/march-platforms.ts";
import { remember } from "../../io/collections.ts";
import { matchesGlob } from "../../io/glob.ts";
import type { AxisPatterns, AxisValue } from "./matrix.ts";
import { listOf, splitKey } from "./settings.ts";
import { otherNames } from "./values.ts";

/** The part of a cell that patterns are compared with. Its compute capabilities count by the label in `axes`. */
export interface Matchable {
  readonly axes: Readonly<Record<string, string>>;
  readonly platform: string;
  readonly values: Readonly<Record<string, AxisValue | null>>;
}

/**
 * Compares patterns with a cell's label on an axis, and with the value's own name: `sapphirerapids` also meets
 * `{ march: sapphirerapids, without: [waitpkg] }`. `platform` counts as an axis.
 */
export function matchesAxis(cell: Matchable, axis: string, patterns: readonly string[]): boolean {
  const names = namesOn(cell, axis);
  return patterns.some((pattern) => names.some((name) => matchesLabel(spelled(axis, pattern), name)));
}

/** `amd64` as a platform means `linux/amd64`. */
export function spelled(axis: string, pattern: string): string {
  return axis === "platform" ? (readPlatform(pattern) ?? pattern) : pattern;
}

/** True if every axis that `match` names matches. */
export function meets(cell: Matchable, match: AxisPatterns): boolean {
  return Object.entries(match).every(
    ([axis, { patterns, not }]) => matchesAxis(cell, axis, patterns) !== not,
  );
}

/** @param name an axis, or `axis.key` for a key that its values bring */
function namesOn(cell: Matchable, name: string): readonly string[] {
  if (name === "platform") return [cell.platform];
  const [axis, key] = splitKey(name);
  const value = cell.values[axis] ?? null;
  if (key !== undefined) return listOf(value?.data[key] ?? []);
  return [cell.axes[axis] ?? "", ...(value === null ? [] : otherNamesOf(value))];
}

const otherNamesOfValues = new WeakMap<AxisValue, readonly string[]>();

function otherNamesOf(value: AxisValue): readonly string[] {
  return remember(otherNamesOfValues, value, () =>
    otherNames(value).filter((name) => value.labelsOfAxis?.has(name) !== true),
  );
}

/**
 * True for the label itself, for a glob with `*`, and for the leading parts of a version (`9.2` meets `9.2.148`,
 * not `9.20`; `rocm-7` meets `rocm-7.2`).
 */
export function matchesLabel(pattern: string, label: string): boolean {
  if (pattern === label) return true;
  if (pattern.includes("*")) return matchesGlob(pattern, label);
  return (
    /^([a-z]+-)?\d+(\.\d+)*$/.test(pattern) &&
    /^([a-z]+-)?\d+(\.\d+)+$/.test(label) &&
    label.startsWith(`${pattern}.`)
  );
}
