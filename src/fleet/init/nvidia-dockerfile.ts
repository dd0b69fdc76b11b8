/** Makes a Dockerfile compile for the GPUs of a build argument: in place of the named GPUs, or by a variable that the build tool reads. */

import type { HostFacts } from "../../facts/facts.ts";
import { readBaseToolkit } from "../dockerfile/base-toolkit.ts";
import { nvidiaAxis } from "../matrix/nvidia-axis.ts";
import { addBefore, type Draft, replaceIn } from "./draft.ts";
import { type Found, listed, templates, type Variable } from "./gpu-variables.ts";
import { targetsIn } from "./gpu-targets.ts";
import { computesAmong, proposeComputes } from "./nvidia-computes.ts";
import type { Reading, Tool } from "./reading.ts";
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
