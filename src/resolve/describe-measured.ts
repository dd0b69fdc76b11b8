/** The difference between the declared CPU features of an image and those that its files use, in words. */

import { findMarch } from "../hardware/cpu-marches.ts";
import type { HostFacts } from "../host/facts.ts";
import type { CudaRequirement, LockedImage, Requirement } from "../lock/lock.ts";
import { ignoresMarch, neededRequirement, unusedFeatures } from "../lock/needed-requirement.ts";
import { compareText } from "../io/collections.ts";
import { amdGpusOf } from "./amd-view.ts";
import { listSome } from "./misfit.ts";
import type { CodeFit } from "./verdict.ts";

/**
 * `declared sapphirerapids, its binaries use avx, avx2, fma`, of an image that others built `estimated by its files: avx, avx2,
 * fma`; null where all that is declared is needed.
 */
export function describeMeasured(
  image: Pick<LockedImage, "requires" | "measured" | "adopted">,
): string | null {
  const isEstimated = image.adopted?.cpu === "estimated";
  const isIgnored = ignoresMarch(image);
  if (!isEstimated && !isIgnored && unusedFeatures(image).length === 0) return null;
  const { cpu } = neededRequirement(image);
  const several = [cpu, ...(cpu.or ?? [])].map(({ by }) => by);
  const named = cpu.or === undefined ? describeFeatures(cpu.features) : several.join(" or ");
  if (isEstimated) return `estimated by its files: ${named}`;
  const own = isIgnored ? "its own files use nothing of it, " : "";
  return `declared ${cpu.march}, ${own}its binaries use ${named}`;
}

/** A line for each side: `NVIDIA driver >= 525.60.13 (CUDA 12.4) and sm_80, compute_80`, `CPU avx, avx2`, `kernel >= 3.2.0`. */
export function describeRequirement({
  cpu,
  cuda,
  rocm,
  accelerator,
  kernel,
}: Requirement): readonly string[] {
  const named = <One extends { readonly by?: string }>(all: readonly One[], words: (one: One) => string) =>
    all.map((one) => (one.by === undefined ? words(one) : `${one.by}: ${words(one)}`)).join("; or ");
  return [
    ...(cuda === null
      ? []
      : [named([cuda, ...(cuda.or ?? [])], (one) => `${describeDriver(one)} and ${listSome(one.code)}`)]),
    ...(rocm == null
      ? []
      : [
          named(
            [rocm, ...(rocm.or ?? [])],
            (one) => `an AMD GPU (ROCm ${one.release}) and ${listSome(one.code)}`,
          ),
        ]),
    ...(accelerator == null ? [] : [`${accelerator}, which nobody judges`]),
    `CPU ${named([cpu, ...(cpu.or ?? [])], ({ features }) => describeFeatures(features))}`,
    ...(kernel === undefined ? [] : [`kernel >= ${kernel}`]),
  ];
}

function describeDriver({ toolkit, driver }: Omit<CudaRequirement, "or">): string {
  switch (driver.mode) {
    case "host":
      return `NVIDIA driver >= ${driver.minimum} (CUDA ${toolkit})`;
    case "bundled":
      return `NVIDIA driver ${driver.version} exactly (CUDA ${toolkit})`;
    case "compat":
      return `the forward-compatibility package ${driver.package} or a driver of CUDA ${toolkit}`;
  }
}

function describeFeatures(features: readonly string[]): string {
  const everywhere = new Set(["x86-64", "armv8-a"].flatMap((name) => findMarch(name)?.features ?? []));
  const used = features.filter((feature) => !everywhere.has(feature)).sort(compareText);
  return used.length === 0 ? "nothing beyond the baseline" : listSome(used);
}

/** `by cuda_v12 and haswell`: which of several of a kind in the image; nothing where it has one of each. */
export function describeBy(names: readonly string[]): readonly string[] {
  return names.length === 0 ? [] : [`by ${names.join(" and ")}`];
}

/** Names the GPU of each piece of code. If some GPUs are hidden, the driver's number is not the place in the list. */
export function describeCode(
  code: readonly Pick<CodeFit, "target">[],
  { nvidia, amd }: Pick<HostFacts, "nvidia" | "amd">,
): string[] {
  const ofAmd = amd == null ? [] : amdGpusOf(amd).judged;
  return code.map(({ target }, place) => {
    const gpu = /^(?:sm|compute)_/.test(target) ? nvidia?.gpus[place] : ofAmd[place];
    return `GPU ${gpu?.index ?? place} runs ${target}`;
  });
}
