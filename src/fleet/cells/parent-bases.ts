/** Finds for each cell the cell of another fleet that it is built on. */

import { type Problem, throwProblems } from "../../errors.ts";
import { groupBy, remember } from "../../io/collections.ts";
import type { Bases, Matrix, ParentFleet } from "../matrix/matrix.ts";
import type { Cell } from "./cell.ts";
import { type CellSettings, repositoryOfCell } from "./cell-settings.ts";
import { buildableCells, type ExpandedCell } from "./expand.ts";
import { memoizeBy } from "./memoize-by.ts";
import { type Requirement, vendorsOf } from "../../lock/requirement.ts";
import { mistake, valueProblem } from "../matrix/matrix-problems.ts";

type Skipped = NonNullable<ExpandedCell["skipped"]>;

/** A fleet that others build on. */
interface Parent {
  readonly matrix: Matrix;
  readonly cells: readonly ExpandedCell[];
}

export interface ParentCell<Fleet> {
  readonly fleet: Fleet;
  /** The fleet's matrix, as the matrix of its children writes it. */
  readonly file: string;
  readonly cell: Cell;
}

export interface StandingCells<Fleet> {
  readonly cells: readonly ExpandedCell[];
  /** By the references that stand for them in Dockerfiles. */
  readonly parents: ReadonlyMap<string, ParentCell<Fleet>>;
}

/**
 * Puts references in place of the names of other fleets among the cells' bases. A reference is the parent's repository with its cell's id as
 * the tag. The reference names no image, so it stays the same when the parent is built anew. A cell whose parent is skipped is skipped too.
 *
 * @param fleets by the keys of the matrix's `parents`
 *
 * Throws `MATRIX_VALUE_UNKNOWN` for pins that mean nothing. Throws `MATRIX_SCHEMA` for a cell with no parent or several, and where a parent
 * needs more of a host than the child declares.
 */
export function resolveParentBases<Fleet extends Parent>(
  matrix: Matrix,
  cells: readonly ExpandedCell[],
  fleets: ReadonlyMap<string, Fleet>,
): StandingCells<Fleet> {
  const parents = new Map<string, ParentCell<Fleet>>();
  if (fleets.size === 0) return { cells, parents };
  const declared = Object.entries(matrix.parents).flatMap(([name, parent]) => {
    const fleet = fleets.get(name);
    return fleet === undefined ? [] : [{ name, parent, fleet, find: finderOf(parent, fleet, matrix) }];
  });
  throwProblems(declared.flatMap(({ parent, fleet }) => pinProblems(parent, fleet.matrix)));
  const byName = new Map(declared.map((each) => [each.name, each]));
  const faults = parentFaults();
  const standing = cells.map((entry): ExpandedCell => {
    const { cell, skipped } = entry;
    const { settings } = cell;
    if (skipped !== null || settings.base === null) return entry;
    const bases = { ...settings.base.value };
    let skippedToo: Skipped | null = null;
    for (const [stage, text] of Object.entries(bases)) {
      const known = byName.get(text);
      if (known === undefined) continue;
      const { parent, fleet, find } = known;
      const found = find(cell);
      const buildable = buildableCells(found);
      const [first] = found;
      if (buildable.length === 0 && first?.skipped) {
        skippedToo ??= skippedWith(first.cell, first.skipped, parent);
        continue;
      }
      const one = faults.onlyFit(cell, buildable, parent);
      if (one === null) continue;
      const ref = `${repositoryOfCell(fleet.matrix, one)}:${one.id}`;
      parents.set(ref, { fleet, file: parent.file.value, cell: one });
      bases[stage] = ref;
    }
    if (skippedToo !== null) return { cell, skipped: skippedToo };
    return { cell: { ...cell, settings: withBases(settings, bases) }, skipped };
  });
  throwProblems(faults.problems());
  return { cells: standing, parents };
}

function skippedWith(base: Cell, { why, reason }: Skipped, { file }: ParentFleet): Skipped {
  return { why, reason: `its base ${base.id} of ${file.value} is ${why}: ${reason}` };
}

/** Cells with the same settings and bases share the answer. */
function withBases(settings: CellSettings, bases: Bases): CellSettings {
  const { base } = settings;
  const standing = () => ({ ...settings, base: base && { ...base, value: bases } });
  return remember(standingAs(settings), JSON.stringify(bases), standing);
}

const standingAs = memoizeBy((_: CellSettings) => new Map<string, CellSettings>());

/** Finds the cells of a parent by platform, by the labels of the axes that both fleets have, and by the pins. */
function finderOf(
  { pin }: ParentFleet,
  fleet: Parent,
  child: Matrix,
): (cell: Cell) => readonly ExpandedCell[] {
  const names = new Set(child.axes.map(({ name }) => name));
  const decided = fleet.matrix.axes
    .map(({ name }) => name)
    .filter((name) => Object.hasOwn(pin, name) || names.has(name));
  const keyOf = ({ platform, axes }: Cell, pins: ParentFleet["pin"]) =>
    JSON.stringify([platform, ...decided.map((name) => pins[name] ?? axes[name])]);
  const byKey = groupBy(fleet.cells, ({ cell }) => keyOf(cell, {}));
  return (cell) => byKey.get(keyOf(cell, pin)) ?? [];
}

/** Pins of axes and values that the parent does not have. */
function pinProblems({ file, pin }: ParentFleet, { axes }: Matrix): readonly Problem[] {
  return Object.entries(pin).flatMap(([name, label]): Problem[] => {
    const axis = axes.find((each) => each.name === name);
    if (axis?.values.some((value) => value.label === label)) return [];
    const [message, fix] =
      axis === undefined
        ? [
            `${file.value} has no axis ${JSON.stringify(name)} to pin`,
            `its axes are ${axes.map((each) => each.name).join(", ")}`,
          ]
        : [
            `${name} of ${file.value} has no value ${JSON.stringify(label)} to pin`,
            `it has ${axis.values.map((value) => value.label).join(", ")}`,
          ];
    return [valueProblem(message, fix, file.at)];
  });
}

interface Fault {
  readonly kind: "none" | "several" | "needs";
  readonly parent: ParentFleet;
  /** The parent's cells for the first of `cells`. */
  readonly found: readonly Cell[];
  readonly cells: Cell[];
}

/** Remembers the cells without a parent, with several, or with a parent that needs too much. Cells with the same fault share a problem. */
function parentFaults() {
  const faults = new Map<string, Fault>();
  return {
    /** The only one of `found` if it is fit to be the cell's base. Null for a fault, which is remembered. */
    onlyFit: (cell: Cell, found: readonly Cell[], parent: ParentFleet): Cell | null => {
      const [one, other] = found;
      const isOnly = one !== undefined && other === undefined;
      if (isOnly && !needsMore(one.requires)(cell.requires)) return one;
      const kind = isOnly ? "needs" : one === undefined ? "none" : "several";
      const fault = (): Fault => ({ kind, parent, found, cells: [] });
      remember(faults, JSON.stringify([parent.file, kind]), fault).cells.push(cell);
      return null;
    },
    problems: () => [...faults.values()].map(problemOf),
  };
}

/**
 * True if the parent's image needs more of a host than the child declares: resolve would give the child's image to hosts that cannot run it.
 */
const needsMore = memoizeBy((parent: Requirement) =>
  memoizeBy((child: Requirement): boolean => {
    const has = new Set(child.cpu.features);
    const vendors = vendorsOf(child);
    return (
      vendorsOf(parent).some((vendor) => !vendors.includes(vendor)) ||
      !parent.cpu.features.every((each) => has.has(each))
    );
  }),
);

const mostNamed = 5;

function problemOf({ kind, parent: { file, pin }, found, cells }: Fault): Problem {
  const [first] = cells;
  const who = listed(cells);
  const [one] = found;
  const broken = (message: string, fix: string) => mistake(message, fix, file.at);
  switch (kind) {
    case "none": {
      const values = Object.entries({ ...first?.axes, ...pin }).map(([axis, label]) => `${axis}=${label}`);
      return broken(
        `${file.value} has no cell for ${who}: ${[...values, first?.platform].join(", ")}`,
        "give both matrices' axes the same values, pin an axis that is not shared, or exclude these cells here",
      );
    }
    case "several": {
      const { axes = {} } = one ?? {};
      const differing = Object.keys(axes).filter((axis) =>
        found.some((each) => each.axes[axis] !== axes[axis]),
      );
      const others = cells.length > 1 ? `, and so on for ${cells.length - 1} more` : "";
      return broken(
        `${file.value} has ${found.length} cells for ${first?.id}: ${listed(found)}${others}`,
        `say which: { fleet: ${file.value}, pin: { ${differing.map((axis) => `${axis}: ${axes[axis]}`).join(", ")} } }`,
      );
    }
    case "needs":
      return broken(
        `the base ${one?.id} of ${file.value} needs more of a host than ${who} declares`,
        "give this matrix the hardware axes of the other fleet, with the same values",
      );
  }
}

function listed(cells: readonly Cell[]): string {
  const more = cells.length > mostNamed ? ` and ${cells.length - mostNamed} more` : "";
  return `${cells
    .slice(0, mostNamed)
    .map(({ id }) => id)
    .join(", ")}${more}`;
}
