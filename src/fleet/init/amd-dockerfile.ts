/** Makes a Dockerfile on a base of ROCm compile for the GPUs of a build argument. */

import type { HostFacts } from "../../facts/facts.ts";
import { readBaseToolkit } from "../dockerfile/base-toolkit.ts";
import { amdAxis } from "../matrix/amd-axis.ts";
import { addBefore, type Draft } from "./draft.ts";
import { targetsIn } from "./gpu-targets.ts";
import { listed, templates, type Variable } from "./gpu-variables.ts";
import type { Reading, Tool } from "./reading.ts";
import type { ProposedGpus } from "./write-matrix.ts";

/** Sources: PyTorch, cpp_extension; HIPCC, "Environment variables". CMake reads none from the environment. */
const readBy: Readonly<Record<Tool, Variable | null>> = {
  cmake: null,
  python: "PYTORCH_ROCM_ARCH",
  other: "HIPCC_COMPILE_FLAGS_APPEND",
  compiler: "HIPCC_COMPILE_FLAGS_APPEND",
};

const named = [
  "PYTORCH_ROCM_ARCH",
  "CMAKE_HIP_ARCHITECTURES",
  "AMDGPU_TARGETS",
  "GPU_TARGETS",
] as const satisfies readonly Variable[];

/** Proposes the GPU axes, and changes the draft; null for a Dockerfile without a release of ROCm. */
export function proposeRocm(
  reading: Reading,
  draft: Draft,
  hosts: readonly HostFacts[],
  rented: readonly string[],
): ProposedGpus | null {
  const [release] = reading.stages.flatMap(({ ref }) => {
    const base = ref.ok ? readBaseToolkit(ref.value) : null;
    return (base?.vendor === "amd" && amdAxis.releaseOf(base.version ?? "")) || [];
  });
  if (release === undefined) return null;
  const found = named.flatMap((variable) => listed(reading, draft, variable));
  const variables: readonly Variable[] =
    found.length > 0 ? found.map(({ variable }) => variable) : added(reading, draft);
  const ofHosts = hosts.flatMap(({ amd }) => amd?.gpus.flatMap(({ target }) => target ?? []) ?? []);
  const ofTexts = found.flatMap(({ text }) => targetsIn(text) ?? []);
  const own = [ofHosts, ofTexts].find((each) => each.length > 0);
  const computes = [...new Set(own ?? rented.filter((each) => each.startsWith("gfx")))].sort();
  const gpus = {
    args: templates(variables),
    accel: `accel: [{ rocm: "${release}" }]`,
    computes: variables.length > 0 ? computes : [computes],
  };
  if (own !== undefined) return gpus;
  return {
    ...gpus,
    note: "no host has a GPU of AMD and the Dockerfile names none: compute has the GPUs that clouds rent; take out those that you have not",
  };
}

/** The variable that the tool of the first step that compiles reads. */
function added(reading: Reading, draft: Draft): readonly Variable[] {
  const step = reading.placed.find(({ tool }) => tool !== null);
  const variable = step?.tool == null ? null : readBy[step.tool];
  if (step === undefined || variable === null) return [];
  addBefore(draft, step, `ARG ${variable}`);
  return [variable];
}
