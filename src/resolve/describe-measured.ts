/** Writes the requirement of an image, and what its files use of it, in words. */

import { findMarch } from "../hardware/cpu-marches.ts";
import type { LockedImage } from "../lock/lock.ts";
import {
  answerOfSide,
  type BySide,
  type CudaRequirement,
  type Requirement,
  sidesOf,
  variantsOf,
} from "../lock/requirement.ts";
import { ignoresMarch, neededRequirement, unusedFeatures } from "../lock/needed-requirement.ts";
import { compareText } from "../io/collections.ts";
import { listSome } from "./misfit.ts";

/**
 * `declared sapphirerapids, its binaries use avx, avx2, fma`, or, for an adopted image, `estimated by its files: avx, avx2, fma`. null if all
 * that is declared is needed.
 */
export function describeMeasured(
  image: Pick<LockedImage, "requires" | "measured" | "adopted">,
): string | null {
  const isEstimated = image.adopted?.cpu === "estimated";
  const isIgnored = ignoresMarch(image);
  if (!isEstimated && !isIgnored && unusedFeatures(image).length === 0) return null;
  const { cpu } = neededRequirement(image);
  const several = variantsOf(cpu).map(({ by }) => by);
  const named = cpu.or === undefined ? describeFeatures(cpu.features) : several.join(" or ");
  if (isEstimated) return `estimated by its files: ${named}`;
  const own = isIgnored ? "its own files use nothing of it, " : "";
  return `declared ${cpu.march}, ${own}its binaries use ${named}`;
}

/** A line for each side: `NVIDIA driver >= 525.60.13 (CUDA 12.4) and sm_80, compute_80`, `CPU avx, avx2`, `kernel >= 3.2.0`. */
export function describeRequirement(requires: Requirement): readonly string[] {
  const { cpu, accelerator, kernel } = requires;
  return [
    ...sidesOf(requires).map((side) => answerOfSide(describeNeeds, side)),
    ...(accelerator == null ? [] : [`${accelerator}, which nobody judges`]),
    `CPU ${named(variantsOf(cpu), ({ features }) => describeFeatures(features))}`,
    ...(kernel === undefined ? [] : [`kernel >= ${kernel}`]),
  ];
}

function named<One extends { readonly by?: string }>(all: readonly One[], words: (one: One) => string) {
  return all.map((one) => (one.by === undefined ? words(one) : `${one.by}: ${words(one)}`)).join("; or ");
}

const describeNeeds: BySide<string> = {
  nvidia: (cuda) =>
    named(variantsOf(cuda), (one) =>
      [describeDriver(one), ...(one.code.length > 0 ? [listSome(one.code)] : [])].join(" and "),
    ),
  amd: (rocm) =>
    named(variantsOf(rocm), (one) => `an AMD GPU (ROCm ${one.release}) and ${listSome(one.code)}`),
};

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

/** `by cuda_v12 and haswell`: the alternatives that a host takes. Empty for an image without alternatives. */
export function describeBy(names: readonly string[]): readonly string[] {
  return names.length === 0 ? [] : [`by ${names.join(" and ")}`];
}
