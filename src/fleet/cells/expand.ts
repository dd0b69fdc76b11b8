/** Stage 2: axes → cells. */

import { ImgmatchError, InternalError, type Place, type Problem, throwProblems } from "../../errors.ts";
import { marchesOn, marchFeatures, marchPlatform } from "../../hardware/cpu-marches.ts";
import { formatGpuTarget } from "../../hardware/gpu-target.ts";
import type { CpuRequirement, CudaRequirement, Requirement } from "../../lock/lock.ts";
import { remember } from "../../io/collections.ts";
import { slug } from "../../oci/slug.ts";
import type {
  AccelValue,
  Axis,
  AxisValue,
  ComputeValue,
  Exclusion,
  MarchValue,
  Matrix,
  Settings,
} from "../matrix/matrix.ts";
import { none, vendorOf } from "../matrix/values.ts";
import { chooseCases, unusedCases } from "./choose-cases.ts";
import { type Cell, type CellValues, dockerfilePath } from "./cell.ts";
import { type Bringing, conflictsIn, settingsOf } from "./cell-settings.ts";
import { groupProblems } from "./groups.ts";
import { whyImpossible } from "./impossible.ts";
import { oncePer, oncePerHardware, oncePerText } from "./once-per.ts";
import { formatPatterns, meets } from "./select.ts";
import { compileTag, tagProblems } from "./tag.ts";

/** A cell and, when it is not to be built, why. */
export interface ExpandedCell {
  readonly cell: Cell;
  readonly skipped: { readonly why: "impossible" | "excluded"; readonly reason: string } | null;
}

/**
 * Every cell of a matrix, in the order of its axes, included cells last.
 *
 * Throws `ImgmatchError` with every dead `exclude`, every invalid tag, and every pair
 * of cells with one tag or whose files are equal or differ only in case; and when no cell is left to build.
 */
export function expandMatrix(matrix: Matrix): ExpandedCell[] {
  checkCount(matrix);
  const problems: Problem[] = [];
  const cells: ExpandedCell[] = [];
  const included = new Map<Cell, Place>();
  const used = new Set<Exclusion>();
  for (const values of combinations(matrix.axes)) {
    const cell = makeCell(matrix, values);
    cells.push({ cell, skipped: skip(cell, matrix, used) });
  }
  for (const { at, values } of matrix.include) {
    const cell = makeCell(matrix, values);
    const reason = whyImpossible(cell, matrix);
    cells.push({ cell, skipped: reason === null ? null : { why: "impossible", reason } });
    included.set(cell, at);
  }
  for (const exclusion of matrix.exclude) {
    if (used.has(exclusion)) continue;
    const message = `no cell matches exclude ${formatPatterns(exclusion.match)}`;
    const fix = "correct the values or remove the rule";
    problems.push({ code: "MATRIX_EXCLUDE_UNUSED", message, fix, at: exclusion.at });
  }
  problems.push(...unusedCases(matrix));
  const twins = findTwins(cells);
  problems.push(...conflicts(cells));
  for (const [cell, twin] of twins)
    problems.push(collision(cell, twin, included.get(cell) ?? placeOf(cell, matrix)));
  const buildable = cells.filter(({ skipped }) => skipped === null).map(({ cell }) => cell);
  const { tagOf, problems: tagTemplateProblems } = compileTag(matrix);
  problems.push(...tagTemplateProblems);
  if (tagTemplateProblems.length === 0) {
    // Cells that stand twice have one tag by nature: that is said already.
    const unique = buildable.filter((cell) => !twins.has(cell));
    problems.push(...tagProblems(unique, tagOf, matrix.tag.at));
    problems.push(...groupProblems(matrix, unique, tagOf));
  }
  if (buildable.length === 0) {
    problems.push({
      code: "MATRIX_EMPTY",
      message: `no cell is left to build: each of ${cells.length} is impossible or excluded`,
      fix: "remove an exclude, or choose toolkits that compile for these GPUs",
      at: matrix.axes[0]?.at ?? { file: matrix.file },
    });
  }
  throwProblems(problems);
  return cells;
}

// Ten times the largest fleet that is measured (bench/). A registry's index of as many images has over 100 MB.
const mostCells = 100_000;

/** Before anything is expanded: a few axes more make of thousands of cells millions, which no memory holds. */
function checkCount({ axes, include, file }: Matrix): void {
  const accel = axes.find((axis) => axis.kind === "accel");
  const compute = axes.find((axis) => axis.kind === "compute");
  const sizes = axes.map(({ name, values }) => ({ name, size: values.length }));
  // Each march has one platform.
  const decided = axes.some(({ kind }) => kind === "march") ? ["platform"] : [];
  const others = sizes
    .filter(({ name }) => ![accel?.name, compute?.name, ...decided].includes(name))
    .reduce((all, { size }) => all * size, 1);
  const rows = (accel?.values ?? [null]).map((value) =>
    compute === undefined ? 1 : computesBeside(compute.values, value).length,
  );
  const count = others * rows.reduce((sum, size) => sum + size, 0) + include.length;
  if (count <= mostCells) return;
  const numbers = sizes.map(({ name, size }) => `${size} ${name}`).join(" × ");
  const message = `the matrix has ${count} cells (${numbers}), the limit is ${mostCells}`;
  const fix = "take values out of an axis, or write several matrices";
  throw new ImgmatchError({ code: "INPUT_TOO_LARGE", message, fix, at: axes[0]?.at ?? { file } });
}

/** In the order of the axes, the last one fastest. */
function combinations(axes: readonly Axis[]): readonly CellValues[] {
  return axes.reduce<readonly CellValues[]>(
    (all, axis) =>
      all.flatMap((chosen) => valuesBeside(axis, chosen).map((value) => ({ ...chosen, [axis.name]: value }))),
    [{}],
  );
}

function valuesBeside(
  axis: Axis,
  { cuda, accel = cuda, platform }: CellValues,
): readonly (AxisValue | null)[] {
  // The accelerator stands before compute.
  if (axis.kind === "compute") return computesBeside(axis.values, accel?.kind === "accel" ? accel : null);
  // platform stands before march.
  if (axis.kind !== "march" || platform == null) return axis.values;
  return axis.values.filter(({ march }) => marchPlatform(march) === platform.label);
}

/** Those of its vendor. A row without GPU code that is judged has no compute capability; without an axis of accelerators all are beside it. */
export function computesBeside(
  computes: readonly ComputeValue[],
  accel: AccelValue | null,
): readonly (ComputeValue | null)[] {
  if (accel === null) return computes;
  const vendor = vendorOf(accel);
  return vendor === null ? [null] : computes.filter((value) => value.vendor === vendor);
}

/** The march of a matrix that has no such axis: what every machine of the platform runs. */
const baseline = oncePerText((platform): MarchValue => {
  const [march] = marchesOn(platform);
  if (march === undefined) throw new InternalError(`the hardware tables have no march of ${platform}`);
  return { kind: "march", label: march.name, at: { file: "" }, settings: {}, data: {}, march, without: [] };
});

/** The cell of one value for each axis; null for the compute capability of a row without GPU code that is judged. */
export function makeCell(matrix: Matrix, values: CellValues): Cell {
  const axes: Record<string, string> = {};
  const free: Record<string, Extract<AxisValue, { kind: "free" }>> = {};
  const ids: string[] = [];
  let accel: Cell["accel"] = null;
  let listed: Cell["compute"] = null;
  let march: MarchValue = baseline(values.platform?.label ?? "linux/amd64");
  for (const { name } of matrix.axes) {
    const value = values[name] ?? null;
    axes[name] = value?.label ?? none;
    if (value === null) continue;
    ids.push(slug(value.label));
    if (value.kind === "accel") accel = value;
    else if (value.kind === "compute") listed = value;
    else if (value.kind === "march") march = value;
    else if (value.kind === "free") free[name] = value;
  }
  const platform = marchPlatform(march.march);
  const matched = { axes, platform, accel, march, free };
  const { compute, named, unmatched } = chooseCases(matrix, { ...matched, compute: listed });
  return {
    id: ids.join("_"),
    ...matched,
    compute,
    settings: settingsOf(matrix, bringing(matrix, values, named)),
    values,
    named,
    unmatched,
    requires: requirementOf(march, accel, compute),
  };
}

function skip(cell: Cell, matrix: Matrix, used: Set<Exclusion>): ExpandedCell["skipped"] {
  let reason: string | null = null;
  for (const exclusion of matrix.exclude) {
    if (!meets(cell, exclusion.match)) continue;
    used.add(exclusion);
    reason ??= exclusion.reason;
  }
  const impossible = whyImpossible(cell, matrix);
  if (impossible !== null) return { why: "impossible", reason: impossible };
  return reason === null ? null : { why: "excluded", reason };
}

/** Whether an `exclude` of the matrix is about this cell. */
export function isExcluded(cell: Cell, { exclude }: Pick<Matrix, "exclude">): boolean {
  return exclude.some(({ match }) => meets(cell, match));
}

function placeOf({ values }: Cell, { file }: Matrix): Place {
  return Object.values(values).find((value) => value !== null)?.at ?? { file };
}

/** Those of a cell's values that bring something. */
function bringing(matrix: Matrix, values: CellValues, named: Cell["named"]): readonly Bringing[] {
  const found: Bringing[] = [];
  const add = (axis: string, label: string | null, { settings, at }: Pick<Bringing, "settings" | "at">) => {
    if (!isEmpty(settings)) found.push({ axis, label, settings, at });
  };
  for (const { name } of matrix.axes) if (values[name]) add(name, values[name].label, values[name]);
  for (const { name } of matrix.values) if (named[name]) add(name, null, named[name]);
  return found;
}

const isEmpty = oncePer((settings: Settings) => Object.keys(settings).length === 0);

/** Once for each pair of values, however many cells have both. */
function conflicts(cells: readonly ExpandedCell[]): readonly Problem[] {
  const all = new Set(cells.flatMap(({ cell, skipped }) => (skipped === null ? [cell.settings] : [])));
  const problems = [...all].flatMap(conflictsIn);
  return [...new Map(problems.map((problem) => [problem.message, problem])).values()];
}

/** Each cell whose file an earlier one has, with that one. File systems that ignore case would write both into one file. */
function findTwins(cells: readonly ExpandedCell[]): ReadonlyMap<Cell, Cell> {
  const seen = new Map<string, Cell>();
  const twins = new Map<Cell, Cell>();
  for (const { cell } of cells) {
    const first = remember(seen, cell.id.toLowerCase(), () => cell);
    if (first !== cell) twins.set(cell, first);
  }
  return twins;
}

function collision(cell: Cell, twin: Cell, at: Place): Problem {
  const [own, others] = [describeAxes(cell), describeAxes(twin)];
  const [message, fix] =
    own === others
      ? [`the cell ${cell.id} stands twice`, "remove it from include"]
      : [
          `two cells have one file ${dockerfilePath(cell)}: ${others} and ${own}`,
          "give one of the values another label",
        ];
  return { code: "CELL_COLLISION", message, fix, at };
}

function describeAxes({ axes }: Cell): string {
  return Object.entries(axes)
    .map(([axis, label]) => `${axis}=${label}`)
    .join(",");
}

/** The same values give the same object: a large fleet holds few of them. */
export const requirementOf = oncePerHardware(
  (march, accel, compute): Requirement => ({
    cpu: cpuRequirement(march, accel),
    cuda: cudaRequirement(accel, compute),
    ...(accel === null || accel.rocm === null || compute === null
      ? {}
      : { rocm: { release: accel.rocm, code: compute.amdTargets } }),
    ...(accel === null || accel.other === null ? {} : { accelerator: accel.other }),
  }),
);

/** Features of the march less its `without`, plus what the base image's own binaries need. */
function cpuRequirement({ march, without }: MarchValue, accel: AccelValue | null): CpuRequirement {
  const features = new Set(marchFeatures(march, without));
  const floor = accel?.cpuFloor ?? null;
  // A multi-platform base has a floor per architecture; this one speaks of its own only.
  if (floor !== null && floor.architecture === march.architecture) {
    for (const feature of floor.features) features.add(feature);
  }
  return { march: march.name, features: [...features].sort() };
}

function cudaRequirement(accel: AccelValue | null, compute: ComputeValue | null): CudaRequirement | null {
  if (accel === null || accel.toolkit === null || accel.driver === null || compute === null) return null;
  return {
    toolkit: accel.toolkit.release,
    code: [...new Set(compute.targets.map(formatGpuTarget))],
    driver: accel.driver,
    ...(accel.require === null ? {} : { require: accel.require }),
  };
}
