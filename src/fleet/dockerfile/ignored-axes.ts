/** Cells that differ in an axis while their Dockerfiles say the same: one image under two names, one of which is wrong. */

import type { Problem } from "../../errors.ts";
import type { Matrix, Settings } from "../matrix/matrix.ts";
import { groupBy, remember } from "../../io/collections.ts";
import type { Cell } from "../cells/cell.ts";
import { isTemplateName } from "./template.ts";

/** Axes that the host decides. */
const hardwareAxes = ["cuda", "accel", "compute", "march"] as const;
type HardwareAxis = (typeof hardwareAxes)[number];

interface Advice {
  /** The text with which a template makes a difference. */
  readonly use: string;
  /** The same for a Dockerfile that is used as it stands: an argument of the matrix. */
  readonly argument: readonly [name: string, value: string];
  readonly merge: string;
}

const cuda: Advice = {
  use: "begin it with FROM {{base}}, or use {{cuda.toolkit}}",
  argument: ["BASE", "{{base}}"],
  merge: "leave the axis one value",
};

const advice: Readonly<Record<HardwareAxis, Advice>> = {
  cuda,
  accel: { ...cuda, use: "begin it with FROM {{base}}, or use {{accel.name}}" },
  compute: {
    use: "use {{gpu.gencode}} or {{gpu.targets}}",
    argument: ["GENCODE", "{{gpu.gencode}}"],
    merge: "put the values into one list, for one image with code for each",
  },
  march: {
    use: "use {{march.flags}}",
    argument: ["MARCH_FLAGS", "{{march.flags}}"],
    merge: "leave the axis its lowest value",
  },
};

/**
 * `TEMPLATE_IGNORES_AXIS` for each hardware axis with cells of one platform that differ in it and have one effect; the place is
 * the later cell's value. Cells that differ in free axes alone are no mistake, as a user pins those by name, but where the matrix says what
 * their values change: a `target`, or settings that values bring.
 *
 * @param effectOf what of a cell's Dockerfile can make a difference to its image, or its digest
 */
export function ignoredAxes(
  cells: readonly Cell[],
  effectOf: (cell: Cell) => string,
  matrix: Matrix,
): readonly Problem[] {
  const pairs = alikeCells(cells, effectOf);
  const alike = saysWhatValuesChange(matrix) ? alikeFlavors(cells, effectOf) : [];
  const flavors = [...groupBy(alike, ({ axis }) => axis).values()].flatMap(([first, ...more]) =>
    first === undefined ? [] : [flavorProblem(first, more, matrix)],
  );
  const hardware = hardwareAxes.flatMap((axis): Problem[] => {
    const [first, ...more] = pairs.filter((pair) => pair.axis === axis);
    if (first === undefined) return [];
    return [
      {
        code: "TEMPLATE_IGNORES_AXIS",
        message: `cells ${first.one.id} and ${first.other.id} differ in ${axis}, but their Dockerfiles say the same${andMore(more)}`,
        fix: `${howToUse(axis, first.other)}, or ${advice[axis].merge}`,
        at: first.other.values[axis]?.at ?? matrix.template.at,
      },
    ];
  });
  return [...hardware, ...flavors];
}

function saysWhatValuesChange({ template, target, context, base, values, axes }: Matrix): boolean {
  const texts = [template.value, context?.value ?? "", ...Object.values(base?.value ?? {})];
  const brings = axes.some(
    ({ kind, values: all }) =>
      kind === "free" &&
      all.some(({ settings }) => Object.keys(settings).some((name) => !ofMachine.has(name))),
  );
  return target !== null || brings || values.length > 0 || texts.some((text) => text.includes("{{"));
}

/** Settings that decide where images are built or go, and not their content. */
const ofMachine: ReadonlySet<string> = new Set([
  "repository",
  "runner",
  "timeoutMinutes",
  "freeDisk",
] satisfies (keyof Settings)[]);

/** Two cells that differ in an axis. */
export interface Pair<Axis extends string = string> {
  readonly axis: Axis;
  readonly one: Cell;
  readonly other: Cell;
}

function flavorProblem({ axis, one, other }: Pair, more: readonly unknown[], matrix: Matrix): Problem {
  const code = "TEMPLATE_IGNORES_AXIS" as const;
  const { target } = other.settings;
  const differ = `cells ${one.id} and ${other.id} differ in ${axis}, but`;
  if (matrix.target !== null && target === matrix.target)
    return {
      code,
      message: `${differ} target: ${target.value} is the same for both: its template does not name the axis${andMore(more)}`,
      fix: `write target: "{{axes.${axis}}}", or give each value another target`,
      at: target.at,
    };
  return {
    code,
    message: `${differ} give the same image: Dockerfile, stages, arguments and base images are equal${andMore(more)}`,
    fix: `give each value of ${axis} another target, template, base or argument; or leave the axis one value`,
    at: other.free[axis]?.at ?? matrix.template.at,
  };
}

function andMore(more: readonly unknown[]): string {
  return more.length === 0 ? "" : `, and so on for ${more.length} more`;
}

/** Cells of one platform that differ in a hardware axis and have one effect, each with an earlier one. */
export function alikeCells(
  cells: readonly Cell[],
  effectOf: (cell: Cell) => string,
): readonly Pair<HardwareAxis>[] {
  const groups = groupBy(cells, (cell) => `${cell.platform} ${effectOf(cell)}`);
  return [...groups.values()].flatMap((group) => {
    if (group.length < 2) return [];
    const single = differing(group, hardwareAxes, (cell, axis) => keyWithout(cell, axis, false));
    return single.length > 0
      ? single
      : firstDiffering(
          group,
          () => hardwareAxes,
          () => "",
        );
  });
}

/** Cells that differ in one free axis alone and have one effect, each with the first of them; where none do, in several. */
export function alikeFlavors(all: readonly Cell[], effectOf: (cell: Cell) => string): readonly Pair[] {
  const alike = groupBy(all, effectOf);
  const cells = all.filter((cell) => (alike.get(effectOf(cell))?.length ?? 0) > 1);
  const names = new Set(cells.flatMap(({ free }) => Object.keys(free)));
  const single = differing(
    cells,
    [...names],
    (cell, axis) => `${keyWithout(cell, axis, true)} ${effectOf(cell)}`,
  );
  if (single.length > 0) return single;
  return firstDiffering(
    cells,
    ({ free }) => Object.keys(free),
    (cell) => {
      const hardware = Object.entries(cell.axes).filter(([axis]) => !Object.hasOwn(cell.free, axis));
      return JSON.stringify([cell.platform, hardware, effectOf(cell)]);
    },
  );
}

/** Of cells with one key, each that differs in the key's axis from the first. */
function differing<Axis extends string>(
  cells: readonly Cell[],
  axes: readonly Axis[],
  keyOf: (cell: Cell, axis: Axis) => string,
): readonly Pair<Axis>[] {
  return axes.flatMap((axis) =>
    firstDiffering(
      cells,
      () => [axis],
      (cell) => keyOf(cell, axis),
    ),
  );
}

/** Of cells with one key, each that differs from the first, with the first of the axes in which it does. */
function firstDiffering<Axis extends string>(
  cells: readonly Cell[],
  axesOf: (cell: Cell) => readonly Axis[],
  keyOf: (cell: Cell) => string,
): readonly Pair<Axis>[] {
  const firsts = new Map<string, Cell>();
  return cells.flatMap((other): Pair<Axis>[] => {
    const one = remember(firsts, keyOf(other), () => other);
    const axis = axesOf(other).find((each) => one.axes[each] !== other.axes[each]);
    return axis === undefined ? [] : [{ axis, one, other }];
  });
}

function howToUse(axis: HardwareAxis, cell: Cell): string {
  const fix = fixOf(axis, cell.settings.template.value);
  return cell.compute?.vendor === "amd"
    ? fix.replaceAll("GENCODE", "OFFLOAD_ARCH").replaceAll("gpu.gencode", "gpu.offload")
    : fix;
}

function fixOf(axis: HardwareAxis, template: string): string {
  if (isTemplateName(template)) return `${advice[axis].use} in ${template}`;
  const [name, value] = advice[axis].argument;
  const where = isAccelerator(axis)
    ? `ARG ${name} before FROM \${${name}} in ${template}`
    : `ARG ${name} in the stage of ${template} that uses it`;
  return `give the build an argument, args: { ${name}: "${value}" } in the matrix and ${where}`;
}

/**
 * The cells that differ from a chosen cell in one axis alone: they are compared with it, and the rest of a large fleet is not looked at.
 */
export function axisNeighbours(chosen: readonly Cell[], all: readonly Cell[]): readonly Cell[] {
  const axesOf = ({ free }: Cell) => [...hardwareAxes, ...Object.keys(free)];
  const wanted = new Set(chosen.flatMap((cell) => axesOf(cell).map((axis) => keyWithout(cell, axis, true))));
  return all.filter((cell) => axesOf(cell).some((axis) => wanted.has(keyWithout(cell, axis, true))));
}

/** The common part of cells that differ in one axis alone. A CPU-only row has no compute: it differs from others in its accelerator. */
function keyWithout(cell: Cell, axis: string, withFree: boolean): string {
  const left = new Set<string>(isAccelerator(axis) ? [axis, "compute"] : [axis]);
  const kept = (name: string) => !left.has(name) && (withFree || hardwareAxes.some((each) => each === name));
  const axes = Object.entries(cell.axes).filter(([name]) => kept(name));
  return JSON.stringify([axis, cell.platform, axes]);
}

function isAccelerator(axis: string): boolean {
  return axis === "cuda" || axis === "accel";
}
