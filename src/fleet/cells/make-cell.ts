/** Makes a cell of one value for each axis. */

import { InternalError } from "../../errors.ts";
import { marchesOn, marchFeatures, marchPlatform } from "../../hardware/cpu-marches.ts";
import { formatGpuTarget } from "../../hardware/gpu-target.ts";
import { type CpuRequirement, noGpus, type Requirement } from "../../lock/requirement.ts";
import { slug } from "../../oci/slug.ts";
import { withoutCode } from "../matrix/compute-values.ts";
import { answerAbout, type ByCode } from "../matrix/gpu-axes.ts";
import type { AccelValue, AxisValue, MarchValue, Matrix, Settings } from "../matrix/matrix.ts";
import { none } from "../matrix/values.ts";
import type { Cell, CellValues } from "./cell.ts";
import { type Bringing, settingsOf } from "./cell-settings.ts";
import { chooseCases } from "./choose-cases.ts";
import { memoizeBy, memoizeByHardware, memoizeText } from "./memoize-by.ts";

/** The march of a matrix without an axis `march`: every machine of the platform runs it. */
const baseline = memoizeText((platform): MarchValue => {
  const [march] = marchesOn(platform);
  if (march === undefined) throw new InternalError(`the hardware tables have no march of ${platform}`);
  return { kind: "march", label: march.name, at: { file: "" }, settings: {}, data: {}, march, without: [] };
});

/** @param values null for an axis without a value in this cell: `compute` of a CPU-only row */
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
  // A matrix without the axis compute.
  if (accel?.gpu && listed === null) listed = withoutCode(accel.gpu.vendor, accel.at);
  const platform = marchPlatform(march.march);
  const matched = { axes, platform, accel, march, free };
  const { compute, named, unmatched } = chooseCases(matrix, { ...matched, values, compute: listed });
  const [deprecated] = [...Object.values(values), ...Object.values(named)]
    .flatMap((value) => value?.deprecated ?? [])
    .sort();
  return {
    id: ids.join("_"),
    ...matched,
    compute,
    settings: settingsOf(matrix, bringing(matrix, values, named)),
    values,
    named,
    unmatched,
    requires: requirementOf(march, accel, compute),
    ...(deprecated !== undefined && { deprecated }),
  };
}

/** The values of a cell that bring settings. */
function bringing(matrix: Matrix, values: CellValues, named: Cell["named"]): readonly Bringing[] {
  const found: Bringing[] = [];
  const add = (axis: string, label: string | null, { settings, at }: Pick<Bringing, "settings" | "at">) => {
    if (!isEmpty(settings)) found.push({ axis, label, settings, at });
  };
  for (const { name } of matrix.axes) if (values[name]) add(name, values[name].label, values[name]);
  for (const { name } of matrix.values) if (named[name]) add(name, null, named[name]);
  return found;
}

const isEmpty = memoizeBy((settings: Settings) => Object.keys(settings).length === 0);

/** The same values give the same object, so that a large fleet holds few of them. */
export const requirementOf = memoizeByHardware(
  (march, accel, compute): Requirement => ({
    cpu: cpuRequirement(march, accel),
    ...(answerAbout(gpuNeeds, accel, compute) ?? noGpus),
    ...(accel === null || accel.other === null ? {} : { accelerator: accel.other }),
  }),
);

const gpuNeeds: ByCode<Pick<Requirement, "cuda" | "rocm">> = {
  nvidia: ({ toolkit: { release, driver, require }, targets }) => {
    const code = targets.map(formatGpuTarget);
    return { cuda: { toolkit: release, code, driver, ...(require === null ? {} : { require }) } };
  },
  amd: ({ toolkit: { release }, targets }) => ({ ...noGpus, rocm: { release, code: targets } }),
};

/** Features of the march less its `without`, plus what the base image's own binaries need. */
function cpuRequirement({ march, without }: MarchValue, accel: AccelValue | null): CpuRequirement {
  const features = new Set(marchFeatures(march, without));
  const floor = accel?.cpuFloor ?? null;
  // A floor counts for its own architecture: a base for several platforms has one for each.
  if (floor !== null && floor.architecture === march.architecture) {
    for (const feature of floor.features) features.add(feature);
  }
  return { march: march.name, features: [...features].sort() };
}
