/** Parses `include`: cells beside the product. An entry has a value, or a rule about the values, for every axis. */

import type { Problem } from "../../errors.ts";
import { marchPlatform } from "../../hardware/cpu-marches.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";
import { vendorNames } from "../../hardware/gpu-vendors.ts";
import { gpuAxes } from "./gpu-axes.ts";
import type { AccelValue, Axis, AxisValue, Inclusion } from "./matrix.ts";
import type { MatrixInput } from "./matrix-schema.ts";
import { meets } from "./meets.ts";
import { needsCompute } from "./parse-axes.ts";
import { schemaProblems } from "./schema-problems.ts";
import { parseMatch, splitKey } from "./settings.ts";
import { kindOfAxis, type PatternInput, pattern, valueShapes } from "./value-schemas.ts";
import { parseValue, vendorOf } from "./values.ts";

export function parseIncludes(
  input: MatrixInput,
  axes: readonly Axis[],
  source: YamlSource,
  problems: Problem[],
): Inclusion[] {
  const names = axes.map(({ name }) => name);
  const listed = (input.include ?? []).flatMap((written, index) => {
    const entries = entriesOf(written, axes);
    const at = source.placeOf(["include", index]);
    const message = `no values of the axes match include ${JSON.stringify(written)}`;
    const fix = "correct its values, or write a new value alone";
    if (entries.length === 0) problems.push({ code: "MATRIX_INCLUDE_INVALID", message, fix, at });
    return entries.map((entry) => ({ entry, index, at }));
  });
  return listed.map(({ entry, index, at }) => {
    const values: Record<string, AxisValue> = {};
    const report = (message: string, fix: string, key?: string) =>
      problems.push({
        code: "MATRIX_INCLUDE_INVALID",
        message,
        fix,
        at: key === undefined ? at : source.placeOfKey(["include", index, key]),
      });
    for (const name of Object.keys(entry).filter((each) => !names.includes(each))) {
      const message = `include names an unknown axis ${JSON.stringify(name)}`;
      report(message, `the axes are ${names.join(", ")}`, name);
    }
    const hasCompute = axes.some(({ kind }) => kind === "compute");
    let accel: AccelValue | null = null;
    // The accelerator is the first axis: it decides whether the cell has a compute capability.
    for (const axis of axes) {
      const isCpuRow: boolean = accel !== null && vendorOf(accel) === null;
      const given = entry[axis.name];
      if (given === undefined) {
        if (axis.kind === "compute" && isCpuRow) continue;
        report(`include has no value for axis ${axis.name}`, `add ${axis.name}: …`);
        continue;
      }
      if (axis.kind === "compute" && isCpuRow) {
        const row: string = accel?.other == null ? "a CPU-only row" : accel.label;
        report(`${row} has no compute capability`, "remove compute from it", axis.name);
        continue;
      }
      const path = ["include", index, axis.name];
      const value = parseIncluded(axis, given, source, path, problems);
      if (value === null) continue;
      values[axis.name] = value;
      if (value.kind === "accel") accel = value;
      if (value.kind === "accel" && value.gpu !== null && !hasCompute && needsCompute(value)) {
        const fix = "add axes.compute with the compute capabilities to compile for";
        report(`an image with ${gpuAxes[value.gpu.vendor].name} needs axis compute`, fix, axis.name);
      }
      if (value.kind === "compute" && accel !== null && vendorOf(accel) !== value.vendor) {
        const fix = `write an accelerator or a target of ${vendorNames[value.vendor]}`;
        const message = `compute ${value.label} is for GPUs of ${vendorNames[value.vendor]}, and ${accel.label} is not`;
        report(message, fix, axis.name);
      }
    }
    const { platform, march } = values;
    if (platform !== undefined && march?.kind === "march" && marchPlatform(march.march) !== platform.label) {
      const fix = `write platform: ${marchPlatform(march.march)}, or a march of ${platform.label}`;
      report(`march ${march.label} is not for ${platform.label}`, fix, "platform");
    }
    return { at, values };
  });
}

type Entry = Readonly<Record<string, unknown>>;

/**
 * An entry with rules, written as in `exclude`, stands for the cells of all values that meet the rules: one entry for each. Any other entry
 * stands for itself. A list of compute is one value, as in `axes`.
 */
function entriesOf(entry: Entry, axes: readonly Axis[]): readonly Entry[] {
  const names = Object.keys(entry);
  const isRule = (name: string): boolean => {
    const [on, key] = splitKey(name);
    const axis = axes.find((each) => each.name === on);
    const given = entry[name];
    if (axis === undefined || !pattern.safeParse(given).success) return false;
    if (key !== undefined || names.some((each) => each.startsWith(`${name}.`))) return true;
    if (Array.isArray(given)) return axis.kind !== "compute";
    return typeof given === "object" || (String(given).includes("*") && labelled(axis, given) === undefined);
  };
  const written = names.filter(isRule).map((name) => [name, entry[name] as PatternInput]);
  const rules = Object.entries(parseMatch(Object.fromEntries(written)));
  if (rules.length === 0) return [entry];
  const ownValues = Object.fromEntries(Object.entries(entry).filter(([name]) => !isRule(name)));
  const own = axes.flatMap((axis) => {
    const value = labelled(axis, ownValues[axis.name]);
    return value === undefined ? [] : [[axis.name, value] as const];
  });
  let chosen: readonly Readonly<Record<string, AxisValue>>[] = [Object.fromEntries(own)];
  for (const axis of axes) {
    const match = Object.fromEntries(rules.filter(([name]) => splitKey(name)[0] === axis.name));
    if (Object.keys(match).length === 0) continue;
    const { name } = axis;
    const fitting = axis.values.filter((value) =>
      meets({ axes: { [name]: value.label }, platform: value.label, values: { [name]: value } }, match),
    );
    chosen = chosen.flatMap((values) => {
      const accel = Object.values(values).find((value) => value.kind === "accel");
      if (axis.kind === "compute" && accel !== undefined && vendorOf(accel) === null) return [values];
      return fitting
        .filter((value) => isBeside(value, values, accel))
        .map((value) => ({ ...values, [name]: value }));
    });
  }
  return chosen.map((values) => ({
    ...ownValues,
    ...Object.fromEntries(Object.entries(values).map(([name, { label }]) => [name, label])),
  }));
}

function labelled(axis: Axis, given: unknown): AxisValue | undefined {
  return axis.values.find(({ label }) => label === given);
}

/** False for a pair that is no cell: of two vendors, or of two platforms. */
function isBeside(
  value: AxisValue,
  { platform }: Readonly<Record<string, AxisValue>>,
  accel: AccelValue | undefined,
): boolean {
  if (value.kind === "compute") return accel === undefined || vendorOf(accel) === value.vendor;
  return value.kind !== "march" || platform === undefined || marchPlatform(value.march) === platform.label;
}

/** `given` is the label of a value of the axis, or a new value. */
function parseIncluded(
  axis: Axis,
  given: unknown,
  source: YamlSource,
  path: YamlPath,
  problems: Problem[],
): AxisValue | null {
  const listed = labelled(axis, given);
  if (listed !== undefined) return listed;
  const shape = valueShapes[kindOfAxis(axis.name)].schema.safeParse(given, { reportInput: true });
  if (!shape.success) {
    problems.push(...schemaProblems(shape.error.issues, source, path));
    return null;
  }
  return parseValue(axis.name, shape.data, source, path, problems);
}
