/** Cells that are built on cells of other fleets: which on which. */

import { type Problem, throwProblems } from "../../errors.ts";
import { groupBy, remember } from "../../io/collections.ts";
import type { Requirement } from "../../lock/lock.ts";
import type { Bases, Matrix, ParentFleet } from "../matrix/matrix.ts";
import type { Cell } from "./cell.ts";
import { type CellSettings, repositoryOfCell } from "./cell-settings.ts";
import type { ExpandedCell } from "./expand.ts";
import { oncePer } from "./once-per.ts";

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
  /** By the reference that Dockerfiles have for each. */
  readonly parents: ReadonlyMap<string, ParentCell<Fleet>>;
}

/**
 * The cells with references in place of the names of other fleets. A reference is the parent's repository with its cell as the tag: it names no image,
 * and so stays the same when the parent is built anew. A cell whose parent is not to be built is not either.
 *
 * @param fleets by the keys of the matrix's `parents`
 *
 * Throws `MATRIX_SCHEMA`, `MATRIX_VALUE_UNKNOWN`: pins that mean nothing, cells with no parent or several, and needs of a parent that its child does not declare.
 */
export function standOnParents<Fleet extends Parent>(
  matrix: Matrix,
  cells: readonly ExpandedCell[],
  fleets: ReadonlyMap<string, Fleet>,
): StandingCells<Fleet> {
  const parents = new Map<string, ParentCell<Fleet>>();
  if (fleets.size === 0) return { cells, parents };
  const named = Object.entries(matrix.parents).flatMap(([name, parent]) => {
    const fleet = fleets.get(name);
    return fleet === undefined
      ? []
      : [[name, { parent, fleet, find: finderOf(parent, fleet, matrix) }] as const];
  });
  throwProblems(named.flatMap(([, { parent, fleet }]) => pinProblems(parent, fleet.matrix)));
  const finders = new Map(named);
  const faults = new Map<string, Fault>();
  const standing = cells.map((entry): ExpandedCell => {
    const { cell, skipped } = entry;
    if (skipped !== null) return entry;
    let why: ExpandedCell["skipped"] = null;
    const { settings } = cell;
    if (settings.base === null) return entry;
    const bases = Object.entries(settings.base.value).map(([stage, text]): [string, string] => {
      const finder = finders.get(text);
      if (finder === undefined) return [stage, text];
      const { parent, fleet, find } = finder;
      const found = find(cell);
      const built = found.filter((each) => each.skipped === null);
      const [one, ...others] = built;
      const [first] = found;
      if (one === undefined && first?.skipped != null) {
        const { why: how, reason } = first.skipped;
        why ??= {
          why: how,
          reason: `its base ${first.cell.id} of ${parent.file.value} is ${how}: ${reason}`,
        };
        return [stage, text];
      }
      const kind = faultOf(cell, one, others);
      if (kind !== null || one === undefined) {
        const made = { kind: kind ?? "none", parent, found: built.map((each) => each.cell), cells: [] };
        remember(faults, `${text} ${kind}`, (): Fault => made).cells.push(cell);
        return [stage, text];
      }
      const ref = `${repositoryOfCell(fleet.matrix, one.cell)}:${one.cell.id}`;
      parents.set(ref, { fleet, file: parent.file.value, cell: one.cell });
      return [stage, ref];
    });
    if (why !== null) return { cell, skipped: why };
    return { cell: { ...cell, settings: withBases(settings, Object.fromEntries(bases)) }, skipped };
  });
  throwProblems([...faults.values()].map(problemOf));
  return { cells: standing, parents };
}

/** Thousands of cells share a few. */
function withBases(settings: CellSettings, bases: Bases): CellSettings {
  const { base } = settings;
  const made = () => ({ ...settings, base: base && { ...base, value: bases } });
  return remember(standingAs(settings), JSON.stringify(bases), made);
}

const standingAs = oncePer((_: CellSettings) => new Map<string, CellSettings>());

/** By the labels of the axes that both have, and of those that are pinned; the platform is always the same. */
function finderOf({ pin }: ParentFleet, fleet: Parent, own: Matrix): (cell: Cell) => readonly ExpandedCell[] {
  const names = new Set(own.axes.map(({ name }) => name));
  const decided = fleet.matrix.axes
    .map(({ name }) => name)
    .filter((name) => Object.hasOwn(pin, name) || names.has(name));
  const keyOf = ({ platform, axes }: Cell, pins: ParentFleet["pin"]) =>
    JSON.stringify([platform, ...decided.map((name) => pins[name] ?? axes[name])]);
  const byKey = groupBy(fleet.cells, ({ cell }) => keyOf(cell, {}));
  return (cell) => byKey.get(keyOf(cell, pin)) ?? [];
}

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
    return [{ code: "MATRIX_VALUE_UNKNOWN", message, fix, at: file.at }];
  });
}

interface Fault {
  readonly kind: "none" | "several" | "needs";
  readonly parent: ParentFleet;
  /** Those of the first cell. */
  readonly found: readonly Cell[];
  readonly cells: Cell[];
}

function faultOf(
  cell: Cell,
  one: ExpandedCell | undefined,
  others: readonly ExpandedCell[],
): Fault["kind"] | null {
  if (one === undefined) return "none";
  if (others.length > 0) return "several";
  return needsMore(one.cell.requires)(cell.requires) ? "needs" : null;
}

/** Whether an image on the parent needs more of a host than its cell declares: resolve would hand it to hosts that cannot run it. */
const needsMore = oncePer((parent: Requirement) =>
  oncePer((child: Requirement): boolean => {
    const has = new Set(child.cpu.features);
    return (
      (parent.cuda !== null && child.cuda === null) ||
      (parent.rocm !== undefined && child.rocm === undefined) ||
      !parent.cpu.features.every((each) => has.has(each))
    );
  }),
);

const mostNamed = 5;

function problemOf({ kind, parent: { file, pin }, found, cells }: Fault): Problem {
  const [first] = cells;
  const who = listed(cells);
  const [one] = found;
  const broken = (message: string, fix: string): Problem => ({
    code: "MATRIX_SCHEMA",
    message,
    fix,
    at: file.at,
  });
  switch (kind) {
    case "none": {
      const values = Object.entries({ ...first?.axes, ...pin }).map(([axis, label]) => `${axis}=${label}`);
      return broken(
        `${file.value} has no cell for ${who}: ${[...values, first?.platform].join(", ")}`,
        "give its axes the same values, pin one that is not shared, or exclude these cells here",
      );
    }
    case "several": {
      const { axes = {} } = one ?? {};
      const open = Object.keys(axes).filter((axis) => found.some((each) => each.axes[axis] !== axes[axis]));
      const others = cells.length > 1 ? `, and so on for ${cells.length - 1} more` : "";
      return broken(
        `${file.value} has ${found.length} cells for ${first?.id}: ${listed(found)}${others}`,
        `say which: { fleet: ${file.value}, pin: { ${open.map((axis) => `${axis}: ${axes[axis]}`).join(", ")} } }`,
      );
    }
    case "needs":
      return broken(
        `the base ${one?.id} of ${file.value} needs more of a host than ${who} declares`,
        "give this matrix the hardware axes that the other fleet has, with the same values",
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
