/** Selects cells and images by `--only cuda=none,march=x86-64-*`. */

import { ImgmatchError, type Problem, throwProblems } from "../../errors.ts";
import { suggest } from "../../io/suggest.ts";
import { isAdopted, namesOf } from "../../lock/adopted-lock.ts";
import type { Lock } from "../../lock/lock.ts";
import type { AxisPatterns } from "../matrix/matrix.ts";
import { matchesAxis, matchesLabel, spelled } from "../matrix/meets.ts";
import type { Cell } from "./cell.ts";

/** Axis → patterns of which one must match; all axes must match. */
export type Selection = Readonly<Record<string, readonly string[]>> | { readonly cell: string };

/**
 * Parses the values of one or more `--only` options. Several options select the union. Within one, every axis must match; an axis that is
 * named twice matches either pattern. A value without `=` is a list of cell ids. `platform` counts as an axis.
 *
 * @param whose the option, for messages
 */
export function parseSelections(
  texts: readonly string[],
  axes: readonly string[],
  whose = "--only",
): Selection[] {
  return texts.flatMap((text): Selection[] => {
    if (!text.includes("=")) return text.split(",").map((cell) => ({ cell: cell.trim() }));
    const selection: Record<string, string[]> = {};
    for (const part of text.split(",")) {
      const at = part.indexOf("=");
      const axis = part.slice(0, at).trim();
      const pattern = part.slice(at + 1).trim();
      if (at < 1 || pattern === "")
        throw invalid(
          `${JSON.stringify(part)} in ${whose} ${text} is not axis=value`,
          `write ${whose === "--only" ? "--only " : ""}cuda=none,march=x86-64-*`,
        );
      if (axis !== "platform" && !axes.includes(axis))
        throw invalid(
          `${whose} names an unknown axis ${JSON.stringify(axis)}`,
          `the axes are ${[...new Set([...axes, "platform"])].join(", ")}`,
        );
      selection[axis] = [...(selection[axis] ?? []), pattern];
    }
    return [selection];
  });
}

function invalid(message: string, fix: string): ImgmatchError {
  return new ImgmatchError({ code: "SELECTION_INVALID", message, fix });
}

/** Without selections, all cells. Throws `SELECTION_…` for each part of a selection that no cell has. */
export function selectCells<Entry extends { readonly cell: Cell }>(
  entries: readonly Entry[],
  only: readonly Selection[],
): readonly Entry[] {
  if (only.length === 0) return entries;
  const cells = entries.map(({ cell }) => cell);
  throwProblems(unmetSelections(cells, only));
  return entries.filter(({ cell }) => isSelected(cell, only));
}

function unmetSelections(cells: readonly Cell[], selections: readonly Selection[]): Problem[] {
  return selections.flatMap((selection): Problem[] => {
    const unmet = isCellSelection(selection)
      ? unmetCell(cells, selection.cell)
      : Object.entries(selection).flatMap(([axis, patterns]) =>
          patterns.flatMap((pattern) => unmetPattern(cells, axis, pattern)),
        );
    if (unmet.length > 0 || cells.some((cell) => isSelected(cell, [selection]))) return unmet;
    const message = `no cell has ${formatSelection(selection)}`;
    return [{ code: "SELECTION_EMPTY", message, fix: "imgmatch plan lists the cells" }];
  });
}

function unmetCell(cells: readonly Cell[], pattern: string): Problem[] {
  if (cells.some(({ id }) => matchesLabel(pattern, id))) return [];
  const ids = cells.map(({ id }) => id);
  const near = suggest(pattern, ids);
  const fix = near === null ? "imgmatch plan lists the cells" : `did you mean ${near}?`;
  return [{ code: "SELECTION_INVALID", message: `no cell is ${pattern}`, fix }];
}

function unmetPattern(cells: readonly Cell[], axis: string, pattern: string): Problem[] {
  if (cells.some((cell) => matchesAxis(cell, axis, [pattern]))) return [];
  const labels = new Set(
    cells.map((cell) => (axis === "platform" ? cell.platform : (cell.axes[axis] ?? ""))),
  );
  const near = suggest(pattern, labels);
  const has = `${axis} has ${[...labels].slice(0, 20).join(", ")}${labels.size > 20 ? ", …" : ""}`;
  const fix = near === null ? has : `did you mean ${axis}=${near}? ${has}`;
  return [{ code: "SELECTION_INVALID", message: `no cell has ${axis}=${pattern}`, fix }];
}

function formatSelection(selection: Selection): string {
  if (isCellSelection(selection)) return selection.cell;
  return Object.entries(selection)
    .flatMap(([axis, patterns]) => patterns.map((pattern) => `${axis}=${pattern}`))
    .join(",");
}

function isCellSelection(selection: Selection): selection is { readonly cell: string } {
  return typeof selection.cell === "string";
}

/** The lock with only the images that the values of `--only` select, by their labels. Throws `SELECTION_…`. */
export function selectImages(lock: Lock, texts: readonly string[]): Lock {
  const axes = Object.values(lock.images).flatMap((image) => Object.keys(image.axes));
  const selections = parseSelections(texts, [...new Set(axes)].sort());
  if (selections.length === 0) return lock;
  const chosen = Object.entries(lock.images).filter(([cell, image]) =>
    selections.some((each) => selects(each, { ...image, id: cell })),
  );
  if (chosen.length > 0) return { ...lock, images: Object.fromEntries(chosen) };
  throw new ImgmatchError({
    code: "SELECTION_EMPTY",
    message: "--only selects no image of the lock",
    fix: isAdopted(lock) ? namesOf(lock) : "imgmatch plan lists the cells",
  });
}

/** Compares labels alone: an image of the lock has nothing else. */
export function selects(
  selection: Selection,
  { id, axes, platform }: Pick<Cell, "id" | "axes" | "platform">,
): boolean {
  if (isCellSelection(selection)) return matchesLabel(selection.cell, id);
  const values: Readonly<Record<string, string>> = { ...axes, platform };
  return Object.entries(selection).every(([axis, patterns]) =>
    patterns.some((pattern) => matchesLabel(spelled(axis, pattern), values[axis] ?? "")),
  );
}

function isSelected(cell: Cell, selections: readonly Selection[]): boolean {
  return selections.some((selection) =>
    isCellSelection(selection)
      ? matchesLabel(selection.cell, cell.id)
      : Object.entries(selection).every(([axis, patterns]) => matchesAxis(cell, axis, patterns)),
  );
}

/** For messages. */
export function formatPatterns(match: AxisPatterns): string {
  return Object.entries(match)
    .map(([axis, { patterns, not }]) => `${axis}${not ? "!" : ""}=${patterns.join("|")}`)
    .join(", ");
}
