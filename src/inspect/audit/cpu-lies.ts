/** Code beyond the declared march, in words. */

import type { Problem } from "../../errors.ts";
import type { CpuRequirement } from "../../hardware/requirement.ts";
import type { BeyondDeclared } from "./cpu-use.ts";

const shown = 5;

/** One problem for the image, with the files and how many instructions each has. */
export function describeBeyond(
  found: readonly BeyondDeclared[],
  { march }: CpuRequirement,
  origin: "own" | "base",
): readonly Problem[] {
  const [first] = found;
  if (first === undefined) return [];
  const features = [...new Set(found.flatMap((each) => each.features))].sort();
  const more = found.length > 1 ? ` and ${found.length - 1} more` : "";
  const whose = origin === "own" ? "" : "of the base image ";
  return [
    {
      code: origin === "own" ? "AUDIT_CPU_BEYOND_MARCH" : "AUDIT_BASE_BEYOND_MARCH",
      message: `${first.file.path}${more} ${whose}has code for ${features.join(", ")}, which ${march} does not have, and never asks the CPU`,
      details: found.slice(0, shown).map(describeFile),
      fix:
        origin === "own"
          ? `compile it with march.flags of the template's view, or give the cell a march that has ${features.join(", ")}`
          : `give the cuda value a cpuFloor that has ${features.join(", ")}, or a base without this file`,
    },
  ];
}

function describeFile({ file, features }: BeyondDeclared): string {
  const counts = features.map((name) => {
    const count = file.cpu?.features[name]?.instructions ?? 0;
    return count === 0
      ? `${name} by its note`
      : `${name} in ${count} ${count === 1 ? "instruction" : "instructions"}`;
  });
  return `    ${file.path}: ${counts.join(", ")}`;
}
