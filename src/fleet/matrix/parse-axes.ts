/** Parses the `axes` of a matrix. */

import type { Problem } from "../../errors.ts";
import { marchesOn, marchPlatform } from "../../hardware/cpu-marches.ts";
import { gpuVendors, vendorNames } from "../../hardware/gpu-vendors.ts";
import { remember } from "../../io/collections.ts";
import { isRecord } from "../../io/json.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";
import { exampleOf, gpuAxes } from "./gpu-axes.ts";
import type { AccelValue, Axis, AxisValue } from "./matrix.ts";
import type { MatrixInput } from "./matrix-schema.ts";
import { kindOfAxis, valueShapes } from "./value-schemas.ts";
import { mistake, valueProblem } from "./matrix-problems.ts";
import { checkAxisName, checkIsFree } from "./reserved-names.ts";
import { otherNames, parseValue, vendorOf } from "./values.ts";

export function parseAxes(input: Pick<MatrixInput, "axes">, source: YamlSource, problems: Problem[]): Axis[] {
  const axes: Axis[] = [];
  // Hardware axes first, whatever the order of the file: to move a line changes no cell's name.
  for (const name of new Set(["cuda", "accel", "compute", "platform", "march", ...Object.keys(input.axes)])) {
    const given = input.axes[name];
    if (given === undefined) continue;
    const at = source.placeOfKey(["axes", name]);
    const isList = Array.isArray(given);
    const path = ["axes", name, ...(isList ? [] : ["values"])];
    const values = parseValues(name, isList ? given : given.values, source, path, problems);
    const isOfVendor = gpuVendors.some((vendor) => gpuAxes[vendor].axis === name);
    const axis = { kind: isOfVendor ? "accel" : kindOfAxis(name), name, at, values } as Axis;
    if (axis.kind === "free") checkAxisName(name, at, problems);
    if (axis.kind === "free" && (isList || given.free !== "true")) checkIsFree(axis, problems);
    axes.push(axis);
  }
  checkGpuAxes(axes, problems);
  checkPlatforms(axes, problems);
  if (axes.length === 0 && problems.length === 0) {
    const fix = "add one, for example march: [x86-64-v3]";
    problems.push(mistake("the matrix has no axis", fix, source.placeOfKey(["axes"])));
  }
  return axes;
}

/** Reports labels that stand twice. */
function parseValues(
  axis: string,
  inputs: readonly unknown[],
  source: YamlSource,
  path: YamlPath,
  problems: Problem[],
): AxisValue[] {
  const byLabel = new Map<string, AxisValue>();
  for (const [index, input] of inputs.entries()) {
    if (input === undefined) continue;
    // The search for the nearest known word is slow.
    if (problems.length > enoughProblems) break;
    const value = parseValue(axis, input, source, [...path, index], problems);
    if (value === null) continue;
    const twin = remember(byLabel, value.label, () => value);
    if (twin === value) continue;
    problems.push({
      code: "MATRIX_DUPLICATE",
      message: `${axis} ${JSON.stringify(value.label)} stands twice, first in line ${twin.at.line}`,
      fix: "remove one, or give one another label",
      at: value.at,
    });
  }
  const labels = new Set(byLabel.keys());
  return [...byLabel.values()].map((value) =>
    otherNames(value).some((name) => labels.has(name)) ? { ...value, labelsOfAxis: labels } : value,
  );
}

/** More are not shown. */
const enoughProblems = 200;

/** Refuses GPU code without targets, and targets without an accelerator: no GPU runs either. */
function checkGpuAxes(axes: readonly Axis[], problems: Problem[]): void {
  const [accel, another] = axes.filter((axis) => axis.kind === "accel");
  const compute = axes.find((axis) => axis.kind === "compute");
  if (another !== undefined) {
    const fix = 'move its values into accel: { cuda: "12.8.1", … }';
    problems.push(mistake("a matrix has an axis cuda or an axis accel, not both", fix, another.at));
    return;
  }
  const gpuValues = accel?.values.filter(needsCompute) ?? [];
  if (accel !== undefined && gpuValues.length > 0 && compute === undefined) {
    const fix = "add axes.compute with the compute capabilities to compile for";
    problems.push(mistake(`axis ${accel.name} needs axis compute`, fix, accel.at));
  }
  if (compute !== undefined && accel === undefined) {
    const fix = "add axes.cuda with the toolkits";
    problems.push(mistake("axis compute needs axis cuda", fix, compute.at));
  }
  if (accel !== undefined && compute !== undefined && problems.length === 0)
    checkVendors(accel, compute, problems);
}

/** True for a row of a vendor whose images always have code for some of its GPUs. */
export function needsCompute(value: AccelValue): boolean {
  const vendor = vendorOf(value);
  return vendor !== null && !gpuAxes[vendor].goesWithoutCode;
}

type AxisOfKind<Kind> = Extract<Axis, { readonly kind: Kind }>;

/** Refuses a value of a vendor that the other axis does not have: it would make no cell, and nobody would notice. */
function checkVendors(accel: AxisOfKind<"accel">, compute: AxisOfKind<"compute">, problems: Problem[]): void {
  for (const value of accel.values) {
    const vendor = vendorOf(value);
    if (vendor === null || compute.values.some((each) => each.vendor === vendor)) continue;
    const fix = `add GPU targets of ${vendorNames[vendor]} to axes.compute, such as ${gpuAxes[vendor].examples.target}`;
    problems.push(valueProblem(`no value of compute is for ${value.label}`, fix, value.at));
  }
  for (const { vendor, label, at } of compute.values) {
    if (accel.values.some((value) => vendorOf(value) === vendor)) continue;
    // The axis cuda may have CPU-only rows alone, until a toolkit is added.
    if (accel.name === gpuAxes[vendor].axis) continue;
    const fix =
      accel.name === "accel"
        ? `add ${exampleOf(vendor)} to axes.accel, or remove the value`
        : `call the axis accel, with ${gpuVendors.map((each) => exampleOf(each)).join(" and ")}`;
    const message = `compute ${label} is for GPUs of ${vendorNames[vendor]}, for which axis ${accel.name} has no value`;
    problems.push(valueProblem(message, fix, at));
  }
}

/** Refuses a platform without a march, and a march without its platform: it would make no cell, and nobody would notice. */
function checkPlatforms(axes: readonly Axis[], problems: Problem[]): void {
  const platforms = axes.find((axis) => axis.kind === "platform");
  const marches = axes.find((axis) => axis.kind === "march");
  if (platforms === undefined || marches === undefined) return;
  for (const { label, at } of platforms.values) {
    if (marches.values.some(({ march }) => marchPlatform(march) === label)) continue;
    const [lowest] = marchesOn(label);
    const fix = `add one to axes.march, such as ${lowest?.name}, or remove the platform`;
    problems.push(valueProblem(`no march of the matrix is for ${label}`, fix, at));
  }
  for (const { label, march, at } of marches.values) {
    const platform = marchPlatform(march);
    if (platforms.values.some((each) => each.label === platform)) continue;
    const fix = `add ${platform} to axes.platform, or remove the march`;
    const message = `march ${label} is for ${platform}, which axis platform does not have`;
    problems.push(valueProblem(message, fix, at));
  }
}

/** The axes of a matrix that the schema refuses. Values that it refuses are undefined. */
export function wellFormedAxes(data: unknown): MatrixInput["axes"] {
  const axes: Record<string, unknown> = {};
  const found = isRecord(data) && isRecord(data.axes) ? data.axes : {};
  for (const [name, given] of Object.entries(found)) {
    const { schema } = valueShapes[kindOfAxis(name)];
    const wellFormed = (values: readonly unknown[]) => values.map((value) => schema.safeParse(value).data);
    if (Array.isArray(given)) axes[name] = wellFormed(given);
    else if (isRecord(given) && Array.isArray(given.values))
      axes[name] = { ...given, values: wellFormed(given.values) };
  }
  return axes as MatrixInput["axes"];
}
