/** Makes a Dockerfile compile for the GPUs of a build argument: in place of the named GPUs, or by a variable that the build tool reads. */

import type { HostFacts } from "../../facts/facts.ts";
import { readBaseToolkit } from "../dockerfile/base-toolkit.ts";
import { nvidiaAxis } from "../matrix/nvidia-axis.ts";
import { addBefore, type Draft, replaceIn } from "./draft.ts";
import { targetsIn } from "./gpu-targets.ts";
import { computesAmong, proposeComputes } from "./nvidia-computes.ts";
import { assignmentsOf, type StagedInstruction, type Reading, type Tool } from "./reading.ts";
import type { ArgumentTemplates } from "./vary-march.ts";
import type { ProposedGpus } from "./write-matrix.ts";

/**
 * Proposes the GPU axes for a Dockerfile, and changes the draft; null for a Dockerfile without a base of NVIDIA's.
 *
 * @param rented the compute capabilities and targets that clouds rent
 */
export function proposeCuda(
  reading: Reading,
  draft: Draft,
  hosts: readonly HostFacts[],
  rented: readonly string[],
): ProposedGpus | null {
  const bases = reading.stages.flatMap(({ ref }) => {
    const base = ref.ok ? readBaseToolkit(ref.value) : null;
    return base?.vendor === "nvidia" && ref.ok ? [{ ref: ref.value, version: base.version ?? "" }] : [];
  });
  const [first] = bases;
  if (first === undefined) return null;
  const [known] = bases.flatMap(({ version }) => nvidiaAxis.releaseOf(version) ?? []);
  const { args, named } = varyGpu(reading, draft);
  const release = known ?? nvidiaAxis.examples.release;
  const own = proposeComputes(hosts, named, release);
  const computes = own ?? computesAmong(rented, release);
  const gpus = {
    args,
    accel: `cuda: [{ toolkit: "${release}", driver: { mode: host } }]`,
    computes: Object.keys(args).length > 0 ? computes : [computes],
  };
  if (known === undefined)
    return {
      ...gpus,
      ...{ toFill: "cuda: [{ toolkit: unknown, driver: { mode: host } }]" },
      note: `the name of the base ${first.ref} tells no CUDA toolkit that is known: write it, and the GPUs, in place of unknown, which plan refuses`,
    };
  if (own !== null) return gpus;
  return {
    ...gpus,
    note: `no host has a GPU of NVIDIA and the Dockerfile names none: compute has the GPUs that clouds rent and CUDA ${release} compiles for; take out those that you have not`,
  };
}

interface GpuVariation {
  readonly args: ArgumentTemplates;
  /** Compute capabilities that the Dockerfile names, as a matrix writes them. */
  readonly named: readonly string[];
}

/** The variable that each tool reads, and the template for it. */
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

/** Source: CMake, "CUDAARCHS"; PyTorch, cpp_extension; nvcc, "NVCC Environment Variables". */
const readBy: Readonly<Record<Tool, Variable>> = {
  cmake: "CUDAARCHS",
  python: "TORCH_CUDA_ARCH_LIST",
  other: "NVCC_APPEND_FLAGS",
  compiler: "NVCC_APPEND_FLAGS",
};

/** One or several options in a row. A row on the next line becomes the same argument again, which nvcc accepts. */
const gencode =
  /(?:\s*(?:--?gpu-architecture|--?gencode|-arch)(?:=|\s+)["']?(?:arch=)?(?:sm|compute)_\d+[af]?(?:,code=\[?[\w,]+\]?)?["']?)+/g;

/** Changes the draft. A Dockerfile without a step that compiles stays. */
function varyGpu(reading: Reading, draft: Draft): GpuVariation {
  const found = [
    ...listed(reading, draft, "TORCH_CUDA_ARCH_LIST"),
    ...listed(reading, draft, "CMAKE_CUDA_ARCHITECTURES"),
    ...optioned(reading, draft),
  ];
  const named = [...new Set(found.flatMap(({ text }) => targetsIn(text) ?? []))];
  if (found.length > 0) return { args: templates(found.map(({ variable }) => variable)), named };
  const step = reading.placed.find(({ tool }) => tool !== null);
  if (step?.tool == null) return { args: {}, named };
  const variable = readBy[step.tool];
  addBefore(draft, step, `ARG ${variable}`);
  return { args: templates([variable]), named };
}

interface Found {
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

/** Replaces `-gencode …` and `-arch=sm_80` of a step. */
function optioned({ placed }: Reading, draft: Draft): readonly Found[] {
  return placed.flatMap((each): Found[] => {
    if (each.instruction.keyword !== "RUN") return [];
    const texts = replaceIn(
      draft,
      each,
      gencode,
      (match, name) => `${/^\s*/.exec(match)?.[0] ?? ""}${name("GENCODE")}`,
    );
    if (texts.length > 0) addBefore(draft, each, "ARG GENCODE");
    return texts.map((text) => ({ variable: "GENCODE", text }));
  });
}

export function templates(names: readonly Variable[]): ArgumentTemplates {
  return Object.fromEntries(names.map((name) => [name, variables[name]]));
}
