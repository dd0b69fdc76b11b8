/** Finds cells that differ in an axis while their Dockerfiles say the same: one image with two names, and one name is wrong. */

import type { Place, Problem } from "../../errors.ts";
import type { GpuVendor } from "../../hardware/gpu-vendors.ts";
import type { Matrix, Settings } from "../matrix/matrix.ts";
import { groupBy, remember } from "../../io/collections.ts";
import type { Cell } from "../cells/cell.ts";
import { isTemplateName } from "../template/template.ts";

/** Axes that the host decides. */
const hardwareAxes = ["cuda", "accel", "compute", "march"] as const;
type HardwareAxis = (typeof hardwareAxes)[number];

interface Advice {
  /** For a template: text that makes a difference. */
  readonly use: string;
  /** For a Dockerfile that is used as it stands: an argument of the matrix. */
  readonly argument: readonly [name: string, value: string];
  /** For an axis that needs no difference. */
  readonly merge: string;
}

const cuda: Advice = {
  use: "begin it with FROM {{base}}, or use {{cuda.toolkit}}",
  argument: ["BASE", "{{base}}"],
  merge: "leave the axis one value",
};

const computeUse: Readonly<Record<GpuVendor, Omit<Advice, "merge">>> = {
  nvidia: {
    use: "use {{gpu.gencode}} or {{gpu.targets}}",
    argument: ["GENCODE", "{{gpu.gencode}}"],
  },
  amd: {
    use: "use {{gpu.offload}} or {{gpu.targets}}",
    argument: ["OFFLOAD_ARCH", "{{gpu.offload}}"],
  },
};

const advice: Readonly<Record<HardwareAxis, Advice>> = {
  cuda,
  accel: { ...cuda, use: "begin it with FROM {{base}}, or use {{accel.name}}" },
  compute: {
    ...computeUse.nvidia,
    merge: "put the values into one list, for one image with code for each",
  },
  march: {
    use: "use {{march.flags}}",
    argument: ["MARCH_FLAGS", "{{march.flags}}"],
    merge: "leave the axis its lowest value",
  },
};

/**
 * `TEMPLATE_IGNORES_AXIS` for each axis in which cells of one effect differ, at the later cell's value. A free axis counts only if the matrix
 * says what its values change (a `target`, or settings of values): a user pins free axes by name, so equal images are no mistake there.
 *
 * @param effectOf the part of a cell's Dockerfile that can change the image, or a digest of the part
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
    const fix = `${howToUse(axis, first.other)}, or ${advice[axis].merge}`;
    const at = first.other.values[axis]?.at ?? matrix.template.at;
    return [ignoredBy(first, more, "their Dockerfiles say the same", fix, at)];
  });
  return [...hardware, ...flavors];
}

function saysWhatValuesChange({ template, target, context, base, values, axes }: Matrix): boolean {
  const texts = [template.value, context?.value ?? "", ...Object.values(base?.value ?? {})];
  const brings = axes.some(
    ({ kind, values: all }) =>
      kind === "free" &&
      all.some(({ settings }) => Object.keys(settings).some((name) => !settingsOfPlace.has(name))),
  );
  return target !== null || brings || values.length > 0 || texts.some((text) => text.includes("{{"));
}

/** Settings that decide where an image is built or published, or what it asks first, but no content. */
const settingsOfPlace: ReadonlySet<string> = new Set([
  "repository",
  "runner",
  "timeoutMinutes",
  "freeDisk",
  "guard",
] satisfies (keyof Settings)[]);

/** Two cells that differ in an axis. */
export interface Pair<Axis extends string = string> {
  readonly axis: Axis;
  readonly one: Cell;
  readonly other: Cell;
}

function flavorProblem(pair: Pair, more: readonly Pair[], matrix: Matrix): Problem {
  const { axis, other } = pair;
  const { target } = other.settings;
  if (matrix.target !== null && target === matrix.target) {
    const same = `target: ${target.value} is the same for both: its template does not name the axis`;
    const fix = `write target: "{{axes.${axis}}}", or give each value another target`;
    return ignoredBy(pair, more, same, fix, target.at);
  }
  const same = "give the same image: Dockerfile, stages, arguments and base images are equal";
  const fix = `give each value of ${axis} another target, template, base or argument; or leave the axis one value`;
  return ignoredBy(pair, more, same, fix, other.free[axis]?.at ?? matrix.template.at);
}

function ignoredBy(
  { axis, one, other }: Pair,
  more: readonly Pair[],
  same: string,
  fix: string,
  at: Place,
): Problem {
  const others = more.length === 0 ? "" : `, and so on for ${more.length} more`;
  const message = `cells ${one.id} and ${other.id} differ in ${axis}, but ${same}${others}`;
  return { code: "TEMPLATE_IGNORES_AXIS", message, fix, at };
}

/** Cells of one platform and effect that differ in a hardware axis, each with an earlier cell. */
export function alikeCells(
  cells: readonly Cell[],
  effectOf: (cell: Cell) => string,
): readonly Pair<HardwareAxis>[] {
  const groups = groupBy(cells, (cell) => `${cell.platform} ${effectOf(cell)}`);
  return [...groups.values()].flatMap((group) =>
    group.length < 2
      ? []
      : pairsIn<HardwareAxis>(
          group,
          () => hardwareAxes,
          (cell, axis) => (axis === null ? "" : keyWithout(cell, axis, false)),
        ),
  );
}

/** Cells of one effect that differ in a free axis, each with an earlier cell. */
export function alikeFlavors(all: readonly Cell[], effectOf: (cell: Cell) => string): readonly Pair[] {
  const byEffect = groupBy(all, effectOf);
  const cells = all.filter((cell) => (byEffect.get(effectOf(cell))?.length ?? 0) > 1);
  const hardwareOf = ({ axes, free, platform }: Cell) =>
    JSON.stringify([platform, Object.entries(axes).filter(([axis]) => !Object.hasOwn(free, axis))]);
  return pairsIn(
    cells,
    ({ free }) => Object.keys(free),
    (cell, axis) => `${axis === null ? hardwareOf(cell) : keyWithout(cell, axis, true)} ${effectOf(cell)}`,
  );
}

/**
 * Pairs of cells that differ in one axis alone; if there are none, pairs that differ in several.
 *
 * @param keyOf equal for cells that may differ in this axis alone, or in any axis for null
 */
function pairsIn<Axis extends string>(
  cells: readonly Cell[],
  axesOf: (cell: Cell) => readonly Axis[],
  keyOf: (cell: Cell, axis: Axis | null) => string,
): readonly Pair<Axis>[] {
  const pairsBy = (only: Axis | null): readonly Pair<Axis>[] => {
    const firsts = new Map<string, Cell>();
    return cells.flatMap((other) => {
      const one = remember(firsts, keyOf(other, only), () => other);
      const axes = only === null ? axesOf(other) : [only];
      const axis = axes.find((each) => one.axes[each] !== other.axes[each]);
      return axis === undefined ? [] : [{ axis, one, other }];
    });
  };
  const single = [...new Set(cells.flatMap(axesOf))].flatMap(pairsBy);
  return single.length > 0 ? single : pairsBy(null);
}

function howToUse(axis: HardwareAxis, cell: Cell): string {
  const template = cell.settings.template.value;
  const { use, argument } = axis === "compute" ? computeUse[cell.compute?.vendor ?? "nvidia"] : advice[axis];
  if (isTemplateName(template)) return `${use} in ${template}`;
  const [name, value] = argument;
  const where = isAccelerator(axis, cell)
    ? `ARG ${name} before FROM \${${name}} in ${template}`
    : `ARG ${name} in the stage of ${template} that uses it`;
  return `give the build an argument, args: { ${name}: "${value}" } in the matrix and ${where}`;
}

/** The cells that differ from a chosen cell in one axis alone. Only these are compared with the cell: a large fleet is not read whole. */
export function axisNeighbours(chosen: readonly Cell[], all: readonly Cell[]): readonly Cell[] {
  const axesOf = ({ free }: Cell) => [...hardwareAxes, ...Object.keys(free)];
  const wanted = new Set(chosen.flatMap((cell) => axesOf(cell).map((axis) => keyWithout(cell, axis, true))));
  return all.filter((cell) => axesOf(cell).some((axis) => wanted.has(keyWithout(cell, axis, true))));
}

/** A key of all axes but one. A CPU-only row has no compute, so the key without the accelerator is without compute too. */
function keyWithout(cell: Cell, axis: string, withFree: boolean): string {
  const left = new Set<string>(isAccelerator(axis, cell) ? [axis, "compute"] : [axis]);
  const kept = (name: string) => !left.has(name) && (withFree || hardwareAxes.some((each) => each === name));
  const axes = Object.entries(cell.axes).filter(([name]) => kept(name));
  return JSON.stringify([axis, cell.platform, axes]);
}

function isAccelerator(axis: string, { values }: Cell): boolean {
  return values[axis]?.kind === "accel";
}
