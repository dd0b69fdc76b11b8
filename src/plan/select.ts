/** `--only cuda=none,march=x86-64-*`: the cells that a user means. */

import { ImgmatchError } from "../errors.ts";
import type { Cell } from "./cell.ts";
import { matchesAxis, matchesLabel } from "./match.ts";

/** Axis → patterns of which one must match; all axes must match. */
export type Selection = Readonly<Record<string, readonly string[]>> | { readonly cell: string };

/**
 * Parses the values of one or more `--only` options. Within one, every axis must match and an axis named twice may
 * match either way; several options select the union. A value without `=` is one or more cells' ids. `platform` counts as an axis.
 */
export function parseSelections(texts: readonly string[], axes: readonly string[]): Selection[] {
  return texts.flatMap((text): Selection[] => {
    if (!text.includes("=")) return text.split(",").map((cell) => ({ cell: cell.trim() }));
    const selection: Record<string, string[]> = {};
    for (const part of text.split(",")) {
      const at = part.indexOf("=");
      const axis = part.slice(0, at).trim();
      const pattern = part.slice(at + 1).trim();
      if (at < 1 || pattern === "") {
        throw new ImgmatchError({
          code: "SELECTION_INVALID",
          message: `${JSON.stringify(part)} in --only ${text} is not axis=value`,
          fix: "write --only cuda=none,march=x86-64-*",
        });
      }
      if (axis !== "platform" && !axes.includes(axis)) {
        throw new ImgmatchError({
          code: "SELECTION_INVALID",
          message: `--only names an unknown axis ${JSON.stringify(axis)}`,
          fix: `the axes are ${[...axes, "platform"].join(", ")}`,
        });
      }
      selection[axis] = [...(selection[axis] ?? []), pattern];
    }
    return [selection];
  });
}

/** Whether a cell is meant. No selections mean every cell. */
export function isSelected(cell: Cell, selections: readonly Selection[]): boolean {
  if (selections.length === 0) return true;
  return selections.some((selection) => {
    if (typeof selection.cell === "string") return matchesLabel(selection.cell, cell.id);
    return Object.entries(selection as Readonly<Record<string, readonly string[]>>).every(
      ([axis, patterns]) => matchesAxis(cell, axis, patterns),
    );
  });
}
