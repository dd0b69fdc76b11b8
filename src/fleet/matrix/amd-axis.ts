/** AMD's releases and targets, as a matrix writes them. */

import { toolkitNames } from "../../hardware/gpu-vendors.ts";
import type { Place, Problem } from "../../errors.ts";
import { amdTargetNames, parseAmdTarget } from "../../hardware/amd-target.ts";
import { isRocmRelease, shortRocm } from "../../hardware/rocm-releases.ts";
import { suggest } from "../../io/suggest.ts";
import type { Toolkits } from "./matrix.ts";
import { type Parsed, refused, valueProblem } from "./matrix-problems.ts";
import type { ToolkitInput } from "./value-schemas.ts";

export const amdAxis = {
  name: toolkitNames.amd,
  key: "rocm",
  axis: null,
  takes: [],
  goesWithoutCode: false,
  examples: { release: "7.2", target: "gfx942" },
  releaseOf: (text: string) => (isRocmRelease(text) ? text : null),
  shortOf: shortRocm,
  parseToolkit: (release: string, _: ToolkitInput, at: Place): Parsed<Toolkits["amd"]> =>
    isRocmRelease(release)
      ? { value: { release } }
      : refused(`${JSON.stringify(release)} is no ROCm release`, 'write it as "7.2" or "7.2.1"', at),
  parseTarget,
  codeOf: (targets: readonly string[]) => targets,
  clashes: unequalFeatures,
} as const;

function parseTarget(text: string, at: Place): Parsed<readonly string[]> | null {
  const target = parseAmdTarget(text);
  if (target !== null) return { value: [target] };
  if (!/^(gfx|amd|[gfx]{3})/i.test(text)) return null;
  const [name = "", ...features] = text.split(":");
  if (amdTargetNames.includes(name)) {
    const fix = "write :sramecc+, :sramecc-, :xnack+ or :xnack- behind a target that has the feature";
    return refused(`${name} has no ${features.join(":") || "such feature"}`, fix, at);
  }
  const near = suggest(name, amdTargetNames);
  const fix = near === null ? "write it as clang does: gfx942, gfx11-generic" : `did you mean ${near}?`;
  return refused(`unknown GPU target ${JSON.stringify(name)}`, fix, at);
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
