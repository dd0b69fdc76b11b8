/** How a pattern of `exclude` or `--only` meets a cell. */

import type { Cell } from "./cell.ts";
import { matchesGlob } from "../../oci/glob.ts";

/**
 * Whether one of the patterns meets the cell's value on an axis: by its label, or by what it is called without one
 * (`sapphirerapids` also meets `{ march: sapphirerapids, without: [waitpkg] }`). `platform` counts as an axis.
 */
export function matchesAxis(cell: Cell, axis: string, patterns: readonly string[]): boolean {
  const names = namesOn(cell, axis);
  return patterns.some((pattern) => names.some((name) => matchesLabel(pattern, name)));
}

function namesOn(cell: Cell, axis: string): readonly string[] {
  const label = cell.axes[axis] ?? "";
  switch (axis) {
    case "platform":
      return [cell.platform];
    case "cuda":
      return [label, cell.cuda?.toolkit?.release ?? label];
    case "march":
      return [label, cell.march.march.name];
    default:
      return [label, cell.free[axis]?.value ?? label];
  }
}

/**
 * True for the label itself, for a glob with `*`, and for the leading parts of a version (`9.2` meets `9.2.148`,
 * not `9.20`).
 */
export function matchesLabel(pattern: string, label: string): boolean {
  if (pattern === label) return true;
  if (pattern.includes("*")) return matchesGlob(pattern, label);
  return /^\d+(\.\d+)*$/.test(pattern) && /^\d+(\.\d+)+$/.test(label) && label.startsWith(`${pattern}.`);
}
