/** Values of the axis `compute`: compute capabilities of NVIDIA and targets of AMD. */

import type { Place, Problem } from "../../errors.ts";
import { amdTargetNames, parseAmdTarget } from "../../hardware/amd-target.ts";
import { formatComputeCapability } from "../../hardware/compute-capability.ts";
import { findArchitecture } from "../../hardware/gpu-architectures.ts";
import { formatGpuTarget, type GpuTarget, readTargets } from "../../hardware/gpu-target.ts";
import { suggest } from "../../io/suggest.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { Case, ComputeValue } from "./matrix.ts";
import { type Parsed, refused, valueProblem } from "./matrix-problems.ts";
import type { ComputeInput } from "./value-schemas.ts";
import { broughtBy, listOf, parseMatch } from "./settings.ts";

/** @param below the place of a path inside the entry */
export function parseComputeValue(
  input: ComputeInput,
  at: Place,
  below: (path: YamlPath) => Place = () => at,
): Parsed<ComputeValue> {
  if (typeof input === "string" || Array.isArray(input)) return parseTargets(input, at);
  const { value, cases, label } = input;
  const brought = broughtBy(input, "compute", at);
  if (value !== undefined && cases === undefined) {
    const parsed = parseTargets(value, at);
    return "problems" in parsed
      ? parsed
      : { value: { ...parsed.value, ...brought, label: label ?? parsed.value.label } };
  }
  if (cases === undefined || value !== undefined || label === undefined) {
    const fix =
      'write { value: ["8.0", "9.0"] }, or { label: all, cases: [{ when: …, value: … }, { value: … }] }';
    return refused("a mapping of compute has either value, or label and cases", fix, at);
  }
  const problems: Problem[] = [];
  const parsed = cases.flatMap(({ when, value: chosen }, index): Case<ComputeValue>[] => {
    const place = below(["cases", index]);
    const targets = parseTargets(chosen, place);
    if ("value" in targets)
      return [{ at: place, when: parseMatch(when), chosen: { ...targets.value, ...brought, label } }];
    problems.push(...targets.problems);
    return [];
  });
  const [vendor = "nvidia", second] = new Set(parsed.map(({ chosen }) => chosen.vendor));
  if (second !== undefined) problems.push(twoVendors(`the cases of ${JSON.stringify(label)}`, at));
  return problems.length > 0
    ? { problems }
    : { value: { kind: "compute", label, ...brought, vendor, targets: [], amdTargets: [], cases: parsed } };
}

function twoVendors(what: string, at: Place): Problem {
  const fix = "write a value for each vendor: each meets the accelerators of its own";
  return valueProblem(`${what} are for GPUs of NVIDIA and of AMD`, fix, at);
}

function parseTargets(value: string | readonly string[], at: Place): Parsed<ComputeValue> {
  const texts = listOf(value);
  const problems: Problem[] = [];
  const report = (message: string, fix: string) => problems.push(valueProblem(message, fix, at));
  const targets: GpuTarget[] = [];
  const amdTargets: string[] = [];
  for (const text of texts) {
    const amd = parseAmdTarget(text);
    const found = readTargets(text);
    const [first] = found ?? [];
    if (amd !== null) amdTargets.push(amd);
    else if (text === "unknown") {
      const fix = 'write the targets that the images are compiled for, such as "8.0" and "9.0+ptx"';
      report("the GPU targets are not known yet", fix);
    } else if (/^(gfx|amd|[gfx]{3})/i.test(text)) problems.push(unknownAmdTarget(text, at));
    else if (found === null || first === undefined) {
      const fix = 'write it as "8.0", "9.0a", "10.0f" or "9.0+ptx", in quotes; of AMD as gfx942';
      report(`${JSON.stringify(text)} is not a compute capability`, fix);
    } else if (findArchitecture(first.compute) === null) {
      const name = formatComputeCapability(first.compute);
      report(`unknown compute capability ${name}`, "imgmatch hardware gpu lists the known ones");
    } else {
      targets.push(...found);
    }
  }
  const names = [...targets.map(formatGpuTarget), ...amdTargets];
  for (const twin of new Set(names.filter((name, index) => names.indexOf(name) < index))) {
    const problem = valueProblem(`${twin} stands twice in ${JSON.stringify(texts)}`, "name it once", at);
    problems.push({ ...problem, code: "MATRIX_DUPLICATE" });
  }
  if (targets.length > 0 && amdTargets.length > 0) problems.push(twoVendors(texts.join(", "), at));
  problems.push(...unequalFeatures(amdTargets, at));
  return problems.length > 0
    ? { problems }
    : {
        value: {
          kind: "compute",
          label: texts.join("+"),
          ...{ at, settings: {}, data: {} },
          vendor: amdTargets.length > 0 ? "amd" : "nvidia",
          targets,
          amdTargets,
          cases: [],
        },
      };
}

function unknownAmdTarget(text: string, at: Place): Problem {
  const [name = "", ...features] = text.split(":");
  if (amdTargetNames.includes(name)) {
    const fix = "write :sramecc+, :sramecc-, :xnack+ or :xnack- behind a target that has the feature";
    return valueProblem(`${name} has no ${features.join(":") || "such feature"}`, fix, at);
  }
  const near = suggest(name, amdTargetNames);
  const fix = near === null ? "write it as clang does: gfx942, gfx11-generic" : `did you mean ${near}?`;
  return valueProblem(`unknown GPU target ${JSON.stringify(name)}`, fix, at);
}

/** clang, "Invalid offload arch combinations": in one compilation all ids of a processor name a feature, or none does. */
function unequalFeatures(targets: readonly string[], at: Place): readonly Problem[] {
  const first = new Map<string, string>();
  return targets.flatMap((target) => {
    const name = target.split(":")[0] ?? target;
    const known = first.get(name) ?? target;
    first.set(name, known);
    if (known.replace(/[+-](?=:|$)/g, "") === target.replace(/[+-](?=:|$)/g, "")) return [];
    const fix = "name the same features in both, or write two values";
    return [valueProblem(`clang compiles ${known} and ${target} into no one image`, fix, at)];
  });
}
