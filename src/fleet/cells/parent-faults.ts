/** Says what is wrong between a matrix and the fleets that it builds on. */

import type { Problem } from "../../errors.ts";
import { remember } from "../../io/collections.ts";
import { type Requirement, vendorsOf } from "../../lock/requirement.ts";
import type { Matrix, ParentFleet } from "../matrix/matrix.ts";
import { mistake, valueProblem } from "../matrix/matrix-problems.ts";
import type { Cell } from "./cell.ts";
import { oncePer } from "./once-per.ts";

/** Pins of axes and values that the parent does not have. */
export function pinProblems({ file, pin }: ParentFleet, { axes }: Matrix): readonly Problem[] {
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

/** Remembers the cells that have no parent, several, or one that needs too much. Cells with the same fault share a problem. */
export function parentFaults(): {
  /** The only one of `found` if it is fit to be the cell's base. Null for a fault, which is remembered. */
  readonly onlyFit: (cell: Cell, found: readonly Cell[], parent: ParentFleet) => Cell | null;
  readonly problems: () => readonly Problem[];
} {
  const faults = new Map<string, Fault>();
  return {
    onlyFit: (cell, found, parent) => {
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

/** True if the parent's image needs more of a host than the child declares: resolve would answer with it on hosts that cannot run it. */
const needsMore = oncePer((parent: Requirement) =>
  oncePer((child: Requirement): boolean => {
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
