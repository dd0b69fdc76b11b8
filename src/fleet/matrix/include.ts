/** Parses `include`: single cells beside the product, each with one value for every axis. */

import type { Problem } from "../../errors.ts";
import { marchPlatform } from "../../hardware/cpu-marches.ts";
import { vendorNames } from "../../lock/requirement.ts";
import { gpuAxes } from "./gpu-axes.ts";
import type { AccelValue, Axis, AxisValue, Inclusion } from "./matrix.ts";
import type { MatrixInput } from "./matrix-schema.ts";
import { kindOfAxis, valueShapes } from "./value-schemas.ts";
import { schemaProblems } from "./schema-problems.ts";
import { parseValue, vendorOf } from "./values.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";

export function parseIncludes(
  input: MatrixInput,
  axes: readonly Axis[],
  source: YamlSource,
  problems: Problem[],
): Inclusion[] {
  return (input.include ?? []).map((entry, index) => {
    const at = source.placeOf(["include", index]);
    const values: Record<string, AxisValue> = {};
    const report = (message: string, fix: string, key?: string) =>
      problems.push({
        code: "MATRIX_INCLUDE_INVALID",
        message,
        fix,
        at: key === undefined ? at : source.placeOfKey(["include", index, key]),
      });
    const names = axes.map(({ name }) => name);
    for (const name of Object.keys(entry)) {
      if (names.includes(name)) continue;
      report(
        `include names an unknown axis ${JSON.stringify(name)}`,
        `the axes are ${names.join(", ")}`,
        name,
      );
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
      if (value.kind === "accel" && value.gpu !== null && !hasCompute) {
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

/** `given` is the label of a value of the axis, or a new value. */
function parseIncluded(
  axis: Axis,
  given: unknown,
  source: YamlSource,
  path: YamlPath,
  problems: Problem[],
): AxisValue | null {
  const listed = axis.values.find(({ label }) => label === given);
  if (listed !== undefined) return listed;
  const shape = valueShapes[kindOfAxis(axis.name)].schema.safeParse(given, { reportInput: true });
  if (!shape.success) {
    problems.push(...schemaProblems(shape.error.issues, source, path));
    return null;
  }
  return parseValue(axis.name, shape.data, source, path, problems);
}
