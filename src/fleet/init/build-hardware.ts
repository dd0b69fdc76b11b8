/** Reads the hardware that each original build is for: its platform, accelerator and compute capabilities. Pure. */

import { type CudaToolkit, findToolkit } from "../../hardware/cuda-toolkits.ts";
import { isTegra } from "../../hardware/gpu-target.ts";
import { count } from "../../io/table.ts";
import { type BaseToolkit, readBaseToolkit } from "../dockerfile/base-toolkit.ts";
import type { Instructions } from "../dockerfile/instructions.ts";
import { runBaseOf } from "../dockerfile/stages.ts";
import type { OriginalBuild } from "./original-build.ts";
import { compiledBy, proposeComputes } from "./propose-axes.ts";
import { capabilitiesIn } from "./vary-gpu.ts";

/** The defaults of a Dockerfile's `ARG`s by name; null for an `ARG` without one. */
export type Defaults = ReadonlyMap<string, string | null>;

export interface OriginalDockerfile {
  readonly instructions: Instructions;
  readonly defaults: Defaults;
}

/** By its path. */
export type DockerfileOf = (path: string) => OriginalDockerfile;

/** What hosts are told of a build's image. */
export interface Told {
  readonly accelerator: BaseToolkit | null;
  /** null also for an accelerator that init writes no row for. */
  readonly toolkit: CudaToolkit | null;
  /** null without a toolkit. */
  readonly targets: BuildTargets | null;
}

interface BuildTargets {
  /** As the build names them; null if no text does. */
  readonly text: string | null;
  /** Those that the toolkit compiles for GPUs of the platform. If the text has none, as "all", the toolkit's oldest and newest: a guess. */
  readonly computes: readonly string[];
  readonly isGuess: boolean;
  /** Named targets without a place in `computes`. */
  readonly without: readonly string[];
}

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

export function toldOf(build: OriginalBuild, dockerfile: OriginalDockerfile): Told {
  const accelerator = acceleratorOf(build, dockerfile);
  const toolkit = accelerator?.vendor === "nvidia" ? findToolkit(accelerator.version ?? "") : null;
  const text = argumentIn(build, dockerfile, gpuArgument);
  const targets = toolkit && targetsOf(text, toolkit, build.platform ?? usualPlatform);
  return { accelerator, toolkit, targets };
}

/** What the image has for GPUs: the toolkit of its base, else that of its arguments. */
function acceleratorOf(build: OriginalBuild, dockerfile: OriginalDockerfile): BaseToolkit | null {
  const { args, target, platform } = build;
  const base = runBaseOf(dockerfile.instructions, target, { args, platform: platform ?? usualPlatform });
  const ofBase = readBaseToolkit(base);
  const cuda = argumentIn(build, dockerfile, toolkitArgument);
  if (ofBase !== null && (ofBase.version !== null || ofBase.vendor !== "nvidia" || cuda === null))
    return ofBase;
  if (cuda !== null) return { vendor: "nvidia", version: cuda };
  const isForAmd = Object.entries(args).some(([name, text]) => amdArgument.test(name) && text !== "");
  return isForAmd ? { vendor: "amd", version: null } : null;
}

function argumentIn(
  { args }: OriginalBuild,
  { defaults }: OriginalDockerfile,
  pattern: RegExp,
): string | null {
  return (
    [...Object.entries(args), ...defaults].find(([name, text]) => pattern.test(name) && text)?.[1] ?? null
  );
}

function targetsOf(text: string | null, toolkit: CudaToolkit, platform: string): BuildTargets {
  const named = capabilitiesIn(text ?? "");
  const found = named.filter((each) => {
    const compute = compiledBy(toolkit, each);
    return compute !== null && (platform === "linux/arm64" || !isTegra(compute));
  });
  const isGuess = found.length === 0;
  const computes = isGuess ? proposeComputes([], [], toolkit) : found;
  return { text, computes, isGuess, without: named.filter((each) => !computes.includes(each)) };
}

export function hardwareOf(builds: readonly OriginalBuild[], dockerfileOf: DockerfileOf): BuildHardware {
  const told = builds.map((build) => toldOf(build, dockerfileOf(build.dockerfile)));
  const notes = told.flatMap(({ targets }) =>
    targets === null || targets.without.length === 0
      ? []
      : [
          `compute is without ${targets.without.join(", ")} where no GPU of the platform has it or the toolkit does not compile it; the argument keeps it`,
        ],
  );
  if (told.some(({ targets }) => targets?.isGuess))
    notes.push(
      "compute is a guess where no text names GPU targets, the toolkit's oldest and newest: write those that the builds compile for",
    );
  const unnamed = builds.filter(({ platform }) => platform === null).length;
  if (unnamed > 0)
    notes.push(
      `the definition names no platform for ${count(unnamed, "build")}: the matrix has ${usualPlatform}`,
    );
  return {
    platforms: builds.map(({ platform }) => platform ?? usualPlatform),
    toolkits: told.map(({ toolkit }) => toolkit?.release ?? null),
    computes: told.map(({ targets }) => targets?.computes ?? null),
    notes: [...new Set(notes)],
  };
}
