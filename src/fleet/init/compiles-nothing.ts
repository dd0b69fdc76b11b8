/** Tells that a build compiles no GPU code: none of its stages has the compiler. What pip installs is compiled already, and `build` looks. Pure. */

import { readBaseToolkit } from "../dockerfile/base-toolkit.ts";
import type { Instructions } from "../dockerfile/instructions.ts";
import { copiedFrom, readStages, stageOf, usedStages } from "../dockerfile/stages.ts";
import type { OriginalBuild } from "./original-build.ts";
import { toolOf } from "./reading.ts";

/** NVIDIA's images without nvcc. */
const withoutCompiler = /^(?:docker\.io\/)?nvidia\/cuda:[\d.]+-(?:cudnn\d*-)?(?:base|runtime)(?:-|$)/;
/** Docker's official images, of which none has CUDA. */
const official = /^(?:docker\.io\/(?:library\/)?)?[a-z0-9-]+(?:[:@]|$)/;
/** Packages and settings by which a step gets or steers a compiler of GPU code. */
const compilers =
  /nvcc|cuda-(?:toolkit|compiler|devel|\d)|cuda-[\w-]*-dev|\bcuda(?:toolkit)?-dev|cmake|(?:ARCH_LIST|CUDA_ARCH)|no-binary|no-build-isolation/i;

export function compilesNothing(
  { args, target, platform }: OriginalBuild,
  { instructions: dockerfile }: { readonly instructions: Instructions },
): boolean {
  const given = { args, platform: platform ?? "linux/amd64" };
  const stages = readStages(dockerfile, given);
  const used = usedStages(dockerfile, stages, target);
  return dockerfile.instructions.every((instruction) => {
    const index = stageOf(instruction, stages);
    const stage = stages[index];
    if (!used.has(index) || stage === undefined) return true;
    const { keyword, text, documents } = instruction;
    if (keyword === "FROM") {
      if (stage.above >= 0) return true;
      return stage.ref.ok && (withoutCompiler.test(stage.ref.value) || isPlain(stage.ref.value));
    }
    const tool = toolOf(instruction);
    if (keyword === "RUN" && compilers.test(`${text}\n${documents}`)) return false;
    if (tool !== null && tool !== "python") return false;
    return copiedFrom(instruction).every((name) => !/cuda|nvidia|rocm/i.test(name));
  });
}

function isPlain(ref: string): boolean {
  return official.test(ref) && readBaseToolkit(ref) === null;
}
