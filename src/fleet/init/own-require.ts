/** Finds the `NVIDIA_REQUIRE_CUDA` that a Dockerfile itself gives to an image. Pure. */

import { assignmentsIn, type Instructions, unquoted } from "../dockerfile/instructions.ts";
import { StageVariables } from "../dockerfile/stage-variables.ts";
import { readStages, stageOf } from "../dockerfile/stages.ts";
import type { OriginalBuild } from "./original-build.ts";

/** The last one in the stages of the image, from its base on; null if none sets it. */
export function ownRequire(
  { args, target, platform }: OriginalBuild,
  { instructions: dockerfile }: { readonly instructions: Instructions },
): string | null {
  const given = { args, platform: platform ?? "linux/amd64" };
  const stages = readStages(dockerfile, given);
  const wanted = stages.findIndex(
    ({ name }) => name !== null && name.toLowerCase() === target?.toLowerCase(),
  );
  const chain: number[] = [];
  for (let at = wanted < 0 ? stages.length - 1 : wanted; at >= 0; at = stages[at]?.above ?? -1)
    chain.unshift(at);
  let variables = new StageVariables(dockerfile, given);
  let found: string | null = null;
  for (const index of chain) {
    for (const instruction of dockerfile.instructions) {
      if (stageOf(instruction, stages) !== index) continue;
      const set = instruction.keyword === "ENV" ? assignmentsIn(instruction.text) : [];
      for (const { name, value } of set) {
        if (name !== "NVIDIA_REQUIRE_CUDA" || value === null) continue;
        found = variables.expand(value).value ?? unquoted(value);
      }
      variables.read(instruction);
    }
    variables = variables.forChild();
  }
  return found;
}
