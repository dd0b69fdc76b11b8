/** Writes GPU targets in the forms of build tools. */

import { formatComputeCapability } from "../../hardware/compute-capability.ts";
import { groupBy } from "../../io/collections.ts";
import { formatGpuTarget, type GpuTarget, virtualTarget } from "../../hardware/gpu-target.ts";

/** nvcc's names of the machine code: `sm_90`. */
export function smForms(targets: readonly GpuTarget[]): readonly string[] {
  return unique(targets.filter(({ kind }) => kind === "sass").map(formatGpuTarget));
}

/**
 * nvcc's options as one text: `'-gencode=arch=compute_90,code=[sm_90,compute_90]'`. Single quotes keep the brackets from the shell.
 * Source: CUDA Compiler Driver NVCC, "GPU Code Generation".
 */
export function gencodeOptions(targets: readonly GpuTarget[]): string {
  return [...groupBy(targets, (target) => formatGpuTarget(virtualTarget(target)))]
    .map(([virtual, group]) => {
      const code = group.map(formatGpuTarget).join(",");
      return `'-gencode=arch=${virtual},code=${group.length === 1 ? code : `[${code}]`}'`;
    })
    .join(" ");
}

/** nvcc's options, one for each target, without quotes and brackets: no shell changes them. */
export function gencodeForms(targets: readonly GpuTarget[]): readonly string[] {
  return unique(
    targets.map(
      (target) => `-gencode=arch=${formatGpuTarget(virtualTarget(target))},code=${formatGpuTarget(target)}`,
    ),
  );
}

/** clang's options, one for each AMD target; no shell changes them. */
export function offloadForms(targets: readonly string[]): readonly string[] {
  return targets.map((target) => `--offload-arch=${target}`);
}

function unique(texts: readonly string[]): readonly string[] {
  return [...new Set(texts)];
}

/** Each compute capability once, in the order of the targets, with the kinds of code for it. */
function byCapability(targets: readonly GpuTarget[]) {
  const groups = groupBy(targets, ({ compute, suffix }) => `${formatComputeCapability(compute)}${suffix}`);
  const has = (group: readonly GpuTarget[], wanted: GpuTarget["kind"]) =>
    group.some(({ kind }) => kind === wanted);
  return [...groups].map(([name, group]) => ({ name, sass: has(group, "sass"), ptx: has(group, "ptx") }));
}

/** Source: CMake, "CUDA_ARCHITECTURES": `-real` is SASS alone, `-virtual` PTX alone, and neither is both. */
export function cmakeForms(targets: readonly GpuTarget[]): readonly string[] {
  return byCapability(targets).map(
    ({ name, sass, ptx }) => `${name.replace(".", "")}${sass && ptx ? "" : sass ? "-real" : "-virtual"}`,
  );
}

/** Source: PyTorch, torch/utils/cpp_extension.py, `TORCH_CUDA_ARCH_LIST`. */
export function dottedForms(targets: readonly GpuTarget[]): readonly string[] {
  return byCapability(targets).map(({ name, ptx }) => `${name}${ptx ? "+PTX" : ""}`);
}
