/** Lists the cells that a matrix could have, also with values of host classes, and ranks them for each class. */

import type { HostFacts } from "../facts/facts.ts";
import { needsGpus } from "../lock/requirement.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import type { Cell, CellValues } from "../fleet/cells/cell.ts";
import { combinations, computesBeside, isExcluded } from "../fleet/cells/expand.ts";
import { makeCell } from "../fleet/cells/make-cell.ts";
import { whyImpossible } from "../fleet/cells/impossible.ts";
import type { AxisValue, Matrix } from "../fleet/matrix/matrix.ts";
import { parseComputeValue } from "../fleet/matrix/compute-values.ts";
import type { Parsed } from "../fleet/matrix/matrix-problems.ts";
import { parseMarchValue } from "../fleet/matrix/values.ts";
import { marchPlatform } from "../hardware/cpu-marches.ts";
import { sortedEntries } from "../io/collections.ts";
import { compareKeys } from "../resolve/order-steps.ts";
import { createResolver } from "../resolve/resolver.ts";
import { distanceKey } from "./compare-covers.ts";
import type { HostClass } from "../resolve/host-classes.ts";
import type { Demand } from "./minimal-set.ts";
import { cpuDistanceFrom, isNative, worstCode } from "./native-distance.ts";
import { plannedLock } from "./cover-fleet.ts";

/** Values of a host class beside those of the matrix. */
interface Extras {
  readonly computes: readonly string[];
  readonly marches: readonly string[];
}

/** Cells by id. */
export type CandidateMap = ReadonlyMap<string, Cell>;

/**
 * Every possible combination of the matrix's hardware values that no `exclude` forbids, and the includes. Free axes have the first values
 * that are allowed.
 */
export function candidateCells(matrix: Matrix, extras: Extras = { computes: [], marches: [] }): CandidateMap {
  const at = { file: matrix.file };
  const values = matrix.axes.flatMap((axis): readonly AxisValue[] => axis.values);
  const ofKind = <Kind extends AxisValue["kind"]>(kind: Kind) =>
    values.filter((value): value is Extract<AxisValue, { readonly kind: Kind }> => value.kind === kind);
  const accelAxis = matrix.axes.find(({ kind }) => kind === "accel")?.name ?? "cuda";
  const computes = [
    ...ofKind("compute"),
    ...(extras.computes.length === 0 ? [] : valid(parseComputeValue([...extras.computes], at))),
  ];
  const marches = [...ofKind("march"), ...extras.marches.flatMap((name) => valid(parseMarchValue(name, at)))];
  const platforms = ofKind("platform");
  const frees = freeValues(matrix);
  const product = orNull(ofKind("accel")).flatMap((accel) =>
    (accel === null ? [null] : computesBeside(computes, accel)).flatMap((compute) =>
      orNull(marches).flatMap((march) =>
        orNull(
          platforms.filter(({ label }) => march === null || label === marchPlatform(march.march)),
        ).flatMap((platform) => {
          const hardware = withoutNull({ [accelAxis]: accel, compute, platform, march });
          const each = frees.map((free) => makeCell(matrix, { ...free, ...hardware }));
          return each.find((cell) => !isExcluded(cell, matrix)) ?? [];
        }),
      ),
    ),
  );
  const included = matrix.include.map(({ values }) => makeCell(matrix, values));
  const possible = [...product, ...included].filter((cell) => whyImpossible(cell, matrix) === null);
  return new Map(sortedEntries(Object.fromEntries(possible.map((cell) => [cell.id, cell]))));
}

/** Leaves out a value that no matrix could have. */
function valid<Value>(parsed: Parsed<Value>): readonly Value[] {
  return "value" in parsed ? [parsed.value] : [];
}

function orNull<Value>(values: readonly Value[]): readonly (Value | null)[] {
  return values.length === 0 ? [null] : values;
}

/** Leaves out axes that the matrix does not have. */
function withoutNull(values: Readonly<Record<string, AxisValue | null>>): CellValues {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}

/** Every combination of values of free axes; one empty combination without free axes. */
function freeValues({ axes }: Matrix): readonly CellValues[] {
  return combinations(axes.filter(({ kind }) => kind === "free"));
}

/** The axes of a cell, for each combination of free values that no `exclude` forbids. */
export function everyFree(
  matrix: Matrix,
  { accel, compute, march, values }: Pick<Cell, "accel" | "compute" | "march" | "values">,
): readonly Readonly<Record<string, string>>[] {
  const axes = new Set(matrix.axes.map(({ name }) => name));
  const hardware = Object.entries({
    ...{ cuda: accel, accel, compute, platform: values.platform ?? null, march },
  }).filter(([name]) => axes.has(name));
  return freeValues(matrix)
    .map((free) => makeCell(matrix, { ...free, ...withoutNull(Object.fromEntries(hardware)) }))
    .filter((cell) => !isExcluded(cell, matrix))
    .map((cell) => cell.axes);
}

/** Numbers are places in the list of cells. Native cells are good; if there are none, the cells nearest to native code are. */
export interface ClassDemand extends Demand {
  readonly native: ReadonlySet<number>;
  /** No cell is surely native, and the facts leave open whether one is. */
  readonly isUndecided: boolean;
}

/** The GPUs of each vendor that cells are suggested for, by their values of the compute axis; null for an unknown one. */
const computes: Readonly<Record<GpuVendor, (facts: HostFacts) => readonly (string | null)[]>> = {
  nvidia: ({ nvidia }) => nvidia?.gpus.map(({ compute }) => compute) ?? [],
  // No cell is suggested for them.
  amd: () => [],
};

export function computesOf(facts: HostFacts): readonly (string | null)[] {
  return gpuVendors.flatMap((vendor) => computes[vendor](facts));
}

export function demandsOf(
  matrix: Matrix,
  cells: CandidateMap,
  ids: readonly string[],
  classes: readonly HostClass[],
): readonly ClassDemand[] {
  const numbers = new Map(ids.map((id, index) => [id, index]));
  const { rank } = createResolver(plannedLock(matrix, [...cells.values()]));
  return classes.map(({ facts, names }): ClassDemand => {
    const hasGpus = computesOf(facts).length > 0;
    const cpuDistance = cpuDistanceFrom(facts);
    const each = rank(facts).ranked.map(({ cell, image, fit }) => {
      const match = { cpu: cpuDistance(image), gpu: worstCode(fit), tier: fit.tier };
      // A CPU image leaves the GPUs unused.
      const unusedGpus = hasGpus && !needsGpus(image.requires);
      return {
        number: numbers.get(cell) ?? 0,
        native: unusedGpus ? false : isNative(match),
        key: distanceKey(unusedGpus, match),
      };
    });
    const nearest = each.map(({ key }) => key).sort(compareKeys)[0] ?? [];
    const native = numbersOf(each, (one) => one.native === true);
    const good = native.size > 0 ? native : numbersOf(each, ({ key }) => compareKeys(key, nearest) === 0);
    return {
      weight: names.length,
      ranked: each.map(({ number }) => number),
      good,
      native,
      isUndecided: native.size === 0 && each.some((one) => one.native === null),
    };
  });
}

function numbersOf<Each extends { readonly number: number }>(
  each: readonly Each[],
  holds: (one: Each) => boolean,
): ReadonlySet<number> {
  return new Set(each.filter(holds).map(({ number }) => number));
}
