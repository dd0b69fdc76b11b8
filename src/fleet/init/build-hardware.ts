/** Reads the hardware that each original build is for: its platform, CUDA toolkit and compute capabilities. Pure. */

import { findToolkit } from "../../hardware/cuda-toolkits.ts";
import { isTegra } from "../../hardware/gpu-target.ts";
import type { OriginalBuild } from "./original-build.ts";
import { compiledBy, proposeComputes } from "./propose-axes.ts";
import { capabilitiesIn } from "./vary-gpu.ts";

/** The defaults of a Dockerfile's `ARG`s by name; null for an `ARG` without one. */
export type Defaults = ReadonlyMap<string, string | null>;

export type DefaultsOf = (dockerfile: string) => Defaults;

/** Lists with an item for each build. */
export interface BuildHardware {
  readonly platforms: readonly string[];
  /** The release of the toolkit, or null. */
  readonly toolkits: readonly (string | null)[];
  /** null for a build without a toolkit. */
  readonly computes: readonly (readonly string[] | null)[];
  /** Remarks for the user. */
  readonly notes: readonly string[];
}

/** Match the names of arguments. */
export const toolkitArgument = /^CUDA_VERSION$/i;
export const gpuArgument =
  /^(TORCH_CUDA_ARCH_LIST|CMAKE_CUDA_ARCHITECTURES|CUDA_DOCKER_ARCH|CUDA_ARCH(ITECTURE)?S|CUDAARCHS)$/i;
const amdArgument = /^(ROCM_VERSION|PYTORCH_ROCM_ARCH|AMDGPU_TARGETS|ROCM_DOCKER_ARCH)$/i;

/** The platform of a definition that names none. */
export const usualPlatform = "linux/amd64";

export function hardwareOf(builds: readonly OriginalBuild[], defaultsOf: DefaultsOf): BuildHardware {
  const notes: string[] = [];
  const foundIn = (build: OriginalBuild, pattern: RegExp): string | null => {
    const all = [...Object.entries(build.args), ...defaultsOf(build.dockerfile)];
    return all.find(([name, text]) => pattern.test(name) && text)?.[1] ?? null;
  };
  const platforms = builds.map(({ platform }) => platform ?? usualPlatform);
  const toolkits = builds.map((build) => {
    const text = foundIn(build, toolkitArgument);
    const found = text === null ? null : findToolkit(text);
    if (text !== null && found === null)
      notes.push(`${build.name}: no toolkit ${text} is known, so that no host is asked for it`);
    return found?.release ?? null;
  });
  const lists = builds.map((build, row) => (toolkits[row] === null ? null : foundIn(build, gpuArgument)));
  const computes = lists.map((text, row) =>
    computesOf(text, toolkits[row] ?? null, platforms[row] ?? usualPlatform),
  );
  notes.push(...new Set(lists.flatMap((each, row) => leftOut(each, computes[row] ?? null))));
  if (builds.every(({ platform }) => platform === null))
    notes.push(`the definition names no platform: the matrix has ${usualPlatform}`);
  if (builds.some(({ args }) => Object.keys(args).some((name) => amdArgument.test(name))))
    notes.push("releases and targets of AMD are arguments: no host is asked for them, so pin their axis");
  return { platforms, toolkits, computes, notes };
}

/**
 * The compute capabilities of a list that the toolkit compiles for GPUs of the platform. If there are none, as in "all", the toolkit's oldest
 * and newest.
 */
function computesOf(text: string | null, release: string | null, platform: string): readonly string[] | null {
  const toolkit = release === null ? null : findToolkit(release);
  if (toolkit === null) return null;
  const found = capabilitiesIn(text ?? "").filter((each) => {
    const compute = compiledBy(toolkit, each);
    return compute !== null && (platform === "linux/arm64" || !isTegra(compute));
  });
  return found.length > 0 ? found : proposeComputes([], [], toolkit);
}

/** A note for capabilities that the compute axis cannot have: the argument keeps them. */
function leftOut(text: string | null, computes: readonly string[] | null): readonly string[] {
  const left = computes === null ? [] : capabilitiesIn(text ?? "").filter((each) => !computes.includes(each));
  if (left.length === 0) return [];
  return [
    `compute is without ${left.join(", ")} where no GPU of the platform has it or the toolkit does not compile it; the argument keeps it`,
  ];
}
