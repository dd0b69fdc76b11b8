/** Expands the axes of a matrix into cells. */

import { ImgmatchError, type Place, type Problem, throwProblems } from "../../errors.ts";
import { marchPlatform } from "../../hardware/cpu-marches.ts";
import { remember } from "../../io/collections.ts";
import { claimsNoCode } from "../../lock/requirement.ts";
import type { AccelValue, Axis, AxisValue, ComputeValue, Exclusion, Matrix } from "../matrix/matrix.ts";
import { mistake } from "../matrix/matrix-problems.ts";
import { meets } from "../matrix/meets.ts";
import { vendorOf } from "../matrix/values.ts";
import { type Cell, type CellValues, dockerfilePath } from "./cell.ts";
import { conflictsIn } from "./cell-settings.ts";
import { unusedCases } from "./choose-cases.ts";
import { groupProblems } from "./groups.ts";
import { whyImpossible } from "./impossible.ts";
import { makeCell } from "./make-cell.ts";
import { formatPatterns } from "./select.ts";
import { compileTag, tagProblems } from "./tag.ts";

/** A cell and, if it is not built, the reason. */
export interface ExpandedCell {
  readonly cell: Cell;
  readonly skipped: { readonly why: "impossible" | "excluded"; readonly reason: string } | null;
}

/**
 * Every cell of a matrix, in the order of its axes, included cells last.
 *
 * Throws `ImgmatchError` with all problems: an `exclude` or a case without a cell, an invalid tag, cells that share a tag or a file name, and
 * no cell left to build. File names are compared without case.
 */
export function expandMatrix(matrix: Matrix): ExpandedCell[] {
  checkCount(matrix);
  const used = new Set<Exclusion>();
  const product = combinations(matrix.axes).map((values): ExpandedCell => {
    const cell = makeCell(matrix, values);
    return { cell, skipped: skip(cell, matrix, used) };
  });
  const included = matrix.include.map(({ values }): ExpandedCell => {
    const cell = makeCell(matrix, values);
    return { cell, skipped: impossible(cell, matrix) };
  });
  const cells = [...product, ...included];
  const twins = findTwins(cells);
  // Twins have one tag too: one problem is enough.
  const single = buildableCells(cells).filter((cell) => !twins.has(cell));
  const placeOf = (cell: Cell) => {
    const index = included.findIndex((each) => each.cell === cell);
    return matrix.include[index]?.at ?? Object.values(cell.values).find((value) => value !== null)?.at;
  };
  throwProblems([
    ...matrix.exclude.flatMap((exclusion) => (used.has(exclusion) ? [] : [unusedExclusion(exclusion)])),
    ...unusedCases(matrix),
    ...unlooked(matrix, cells),
    ...conflicts(cells),
    ...[...twins].map(([cell, twin]) => collision(cell, twin, placeOf(cell) ?? { file: matrix.file })),
    ...nameProblems(matrix, single),
    ...(cells.some(({ skipped }) => skipped === null) ? [] : [nothingToBuild(matrix, cells)]),
  ]);
  return cells;
}

export function buildableCells(cells: readonly ExpandedCell[]): readonly Cell[] {
  return cells.flatMap(({ cell, skipped }) => (skipped === null ? [cell] : []));
}

/** The mistakes in tags, channels and variants. */
function nameProblems(matrix: Matrix, cells: readonly Cell[]): readonly Problem[] {
  const { tagOf, problems } = compileTag(matrix);
  if (problems.length > 0) return problems;
  return [...tagProblems(cells, tagOf, matrix.tag.at), ...groupProblems(matrix, cells, tagOf)];
}

function unusedExclusion({ match, at }: Exclusion): Problem {
  const message = `no cell matches exclude ${formatPatterns(match)}`;
  return { code: "MATRIX_EXCLUDE_UNUSED", message, fix: "correct the values or remove the rule", at };
}

/** Images of a row without `compute` are looked at, or the row is refused. */
function unlooked({ measure, file }: Matrix, cells: readonly ExpandedCell[]): readonly Problem[] {
  const claims = measure ? undefined : buildableCells(cells).find(({ requires }) => claimsNoCode(requires));
  if (claims === undefined) return [];
  const message = `measure: false, and nobody sees whether the image of ${claims.id} has GPU code`;
  return [
    mistake(message, "write its GPU targets into compute, or remove measure", claims.accel?.at ?? { file }),
  ];
}

function nothingToBuild({ axes, file }: Matrix, cells: readonly ExpandedCell[]): Problem {
  const excluded = cells.filter(({ skipped }) => skipped?.why === "excluded").length;
  const left = [`${excluded} excluded`, `${cells.length - excluded} impossible`].filter(
    (text) => !text.startsWith("0 "),
  );
  return {
    code: "MATRIX_EMPTY",
    message: `no cell is left to build: of ${cells.length}, ${left.join(" and ")}`,
    fix: "remove an exclude, or choose toolkits that compile for these GPUs",
    at: axes[0]?.at ?? { file },
  };
}

// Ten times the largest fleet that is measured (bench/). A registry's index of as many images has over 100 MB.
const mostCells = 100_000;

/** Throws before the cells are made: a few axes more make millions of them, which no memory holds. */
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
export function combinations(axes: readonly Axis[]): readonly CellValues[] {
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

/** The values of `compute` for the vendor of an accelerator; null stands for none. A matrix without accelerators has all values. */
export function computesBeside(
  computes: readonly ComputeValue[],
  accel: AccelValue | null,
): readonly (ComputeValue | null)[] {
  if (accel === null) return computes;
  const vendor = vendorOf(accel);
  return vendor === null ? [null] : computes.filter((value) => value.vendor === vendor);
}

function skip(cell: Cell, matrix: Matrix, used: Set<Exclusion>): ExpandedCell["skipped"] {
  let reason: string | null = null;
  for (const exclusion of matrix.exclude) {
    if (!meets(cell, exclusion.match)) continue;
    used.add(exclusion);
    reason ??= exclusion.reason;
  }
  return impossible(cell, matrix) ?? (reason === null ? null : { why: "excluded", reason });
}

function impossible(cell: Cell, matrix: Matrix): ExpandedCell["skipped"] {
  const reason = whyImpossible(cell, matrix);
  return reason === null ? null : { why: "impossible", reason };
}

/** True if an `exclude` of the matrix matches the cell. */
export function isExcluded(cell: Cell, { exclude }: Pick<Matrix, "exclude">): boolean {
  return exclude.some(({ match }) => meets(cell, match));
}

/** One problem for each pair of values, however many cells have both. */
function conflicts(cells: readonly ExpandedCell[]): readonly Problem[] {
  const settings = new Set(buildableCells(cells).map((cell) => cell.settings));
  const problems = [...settings].flatMap(conflictsIn);
  return [...new Map(problems.map((problem) => [problem.message, problem])).values()];
}

/** Cells whose file an earlier cell has, each with that cell. A file system that ignores case keeps one file of two. */
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
  const [axes, twinAxes] = [describeAxes(cell), describeAxes(twin)];
  const [message, fix] =
    axes === twinAxes
      ? [`the cell ${cell.id} stands twice`, "remove it from include"]
      : [
          `two cells have one file ${dockerfilePath(cell)}: ${twinAxes} and ${axes}`,
          "give one of the values another label",
        ];
  return { code: "CELL_COLLISION", message, fix, at };
}

function describeAxes({ axes }: Cell): string {
  return Object.entries(axes)
    .map(([axis, label]) => `${axis}=${label}`)
    .join(",");
}
