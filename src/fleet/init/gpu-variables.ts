/** Variables by which build tools get their GPU targets: each with its template, and what a Dockerfile says of it. */

import { addBefore, type Draft, replaceIn } from "./draft.ts";
import { assignmentsOf, type Reading, type StagedInstruction } from "./reading.ts";
import type { ArgumentTemplates } from "./vary-march.ts";

const variables = {
  TORCH_CUDA_ARCH_LIST: "{{gpu.torch}}",
  CMAKE_CUDA_ARCHITECTURES: "{{gpu.cmake}}",
  CUDAARCHS: "{{gpu.cmake}}",
  GENCODE: "{{gpu.gencode}}",
  NVCC_APPEND_FLAGS: "{{gpu.gencode}}",
  PYTORCH_ROCM_ARCH: "{{gpu.torch}}",
  CMAKE_HIP_ARCHITECTURES: "{{gpu.cmake}}",
  AMDGPU_TARGETS: '{{join gpu.targets ";"}}',
  GPU_TARGETS: '{{join gpu.targets ";"}}',
  HIPCC_COMPILE_FLAGS_APPEND: "{{gpu.offload}}",
} as const;
export type Variable = keyof typeof variables;

export interface Found {
  readonly variable: Variable;
  readonly text: string;
}

/** Finds a variable in an `ARG`, in an `ENV`, or as `NAME=value` in a step. */
export function listed({ placed }: Reading, draft: Draft, variable: Variable): readonly Found[] {
  return placed.flatMap((each): Found[] => {
    const { keyword } = each.instruction;
    if (keyword === "ARG" || keyword === "ENV") {
      const assigned = assignmentsOf(each.instruction);
      const own = assigned.find(({ name }) => name === variable);
      if (own === undefined) return [];
      if (keyword === "ENV") {
        if (assigned.length > 1) replaceValue(draft, each, variable);
        if (assigned.length > 1) addBefore(draft, each, `ARG ${variable}`);
        else replaceIn(draft, each, /^(\s*)ENV(\s)/gi, (match) => match.replace(/ENV/i, "ARG"));
        if (assigned.length === 1)
          replaceIn(draft, each, new RegExp(`${variable} (?=\\S)`, "g"), () => `${variable}=`);
      }
      return [{ variable, text: own.value ?? "" }];
    }
    if (keyword !== "RUN") return [];
    const texts = replaceValue(draft, each, variable);
    if (texts.length > 0) addBefore(draft, each, `ARG ${variable}`);
    return texts.map((text) => ({ variable, text }));
  });
}

/** Answers the replaced values. A value with a variable in it stays. */
function replaceValue(draft: Draft, placed: StagedInstruction, variable: Variable): readonly string[] {
  const pattern = new RegExp(
    `(?<=(?<![A-Za-z0-9_])(?:-D)?${variable}(?::STRING)?=)("[^"$]+"|'[^'$]+'|[^\\s"'$]+)`,
    "g",
  );
  return replaceIn(draft, placed, pattern, (match, name) => {
    const quote = /^["']/.test(match);
    return quote ? `"\${${variable}}"` : name(variable);
  });
}

export function templates(names: readonly Variable[]): ArgumentTemplates {
  return Object.fromEntries(names.map((name) => [name, variables[name]]));
}
