/** Reads the hardware that each original build is for: its platform, accelerator and GPU targets. Pure. */

import { type CudaToolkit, findToolkit } from "../../hardware/cuda-toolkits.ts";
import { isTegra } from "../../hardware/gpu-target.ts";
import { isRocmRelease } from "../../hardware/rocm-releases.ts";
import { count } from "../../io/table.ts";
import { type BaseToolkit, readBaseToolkit } from "../dockerfile/base-toolkit.ts";
import type { Instructions } from "../dockerfile/instructions.ts";
import { runBaseOf } from "../dockerfile/stages.ts";
import { type Defaults, namedTargets } from "./gpu-targets.ts";
import type { OriginalBuild } from "./original-build.ts";
import { compiledBy, proposeComputes } from "./propose-axes.ts";

export interface OriginalDockerfile {
  readonly instructions: Instructions;
  readonly defaults: Defaults;
}

/** By its path. */
export type DockerfileOf = (path: string) => OriginalDockerfile;

/** What hosts are told of a build's image. */
export interface Told {
  /** null also for a release that no matrix has. */
  readonly accelerator: Accelerator | null;
  /** The toolkit of a release that no matrix has, for messages. */
  readonly unknown: BaseToolkit | null;
  /** null without an accelerator. */
  readonly targets: BuildTargets | null;
}

interface Accelerator {
  readonly vendor: BaseToolkit["vendor"];
  /** `12.9.1`, `7.2` */
  readonly release: string;
}

interface BuildTargets {
  /** As the build names them; null if no text does. */
  readonly text: string | null;
  /** Those that the toolkit compiles for GPUs of the platform; if unknown, some that stand in for them until the user writes them. */
  readonly computes: readonly string[];
  readonly isUnknown: boolean;
  /** Named targets without a place in `computes`. */
  readonly without: readonly string[];
}

/** Lists with an item for each build. */
export interface BuildHardware {
  readonly platforms: readonly string[];
  /** Null for a build without one. */
  readonly accelerators: readonly (Accelerator | null)[];
  /** null for a build without an accelerator. */
  readonly computes: readonly (readonly string[] | null)[];
  /** True where `computes` stand in for targets that nobody knows. */
  readonly unknown: readonly boolean[];
  /** Remarks for the user. */
  readonly notes: readonly string[];
}

/** Matches the name of an argument. */
export const toolkitArgument = /^CUDA_VERSION$/i;
const amdArgument = /^(ROCM_VERSION|PYTORCH_ROCM_ARCH|AMDGPU_TARGETS|ROCM_DOCKER_ARCH)$/i;

/** The platform of a definition that names none. */
export const usualPlatform = "linux/amd64";

export function toldOf(build: OriginalBuild, dockerfile: OriginalDockerfile): Told {
  const found = acceleratorOf(build, dockerfile);
  if (found === null) return { accelerator: null, unknown: null, targets: null };
  const toolkit = found.vendor === "nvidia" ? findToolkit(found.version ?? "") : null;
  const rocm = found.vendor === "amd" && isRocmRelease(found.version ?? "") ? found.version : null;
  const release = toolkit?.release ?? rocm;
  if (release === null) return { accelerator: null, unknown: found, targets: null };
  const { text, targets } = namedTargets(build, dockerfile, found.vendor);
  const platform = build.platform ?? usualPlatform;
  const usable = (targets ?? []).filter((each) => toolkit === null || compiles(toolkit, each, platform));
  const standIn = toolkit === null ? ["gfx90a"] : proposeComputes([], [], toolkit);
  const isUnknown = usable.length === 0;
  return {
    accelerator: { vendor: found.vendor, release },
    unknown: null,
    targets: {
      text,
      isUnknown,
      computes: isUnknown ? standIn : usable,
      without: (targets ?? []).filter((each) => !usable.includes(each)),
    },
  };
}

function compiles(toolkit: CudaToolkit, target: string, platform: string): boolean {
  const compute = compiledBy(toolkit, target);
  return compute !== null && (platform === "linux/arm64" || !isTegra(compute));
}

/** What the image has for GPUs: the toolkit of its base, else that of its arguments. */
function acceleratorOf(build: OriginalBuild, dockerfile: OriginalDockerfile): BaseToolkit | null {
  const { args, target, platform } = build;
  const base = runBaseOf(dockerfile.instructions, target, { args, platform: platform ?? usualPlatform });
  const ofBase = readBaseToolkit(base);
  const all = [...Object.entries(args), ...dockerfile.defaults];
  const firstOf = (pattern: RegExp) => all.find(([name, text]) => pattern.test(name) && text)?.[1] ?? null;
  const cuda = firstOf(toolkitArgument);
  const rocm = firstOf(/^ROCM_VERSION$/i);
  if (ofBase?.vendor === "amd") return ofBase.version === null ? { ...ofBase, version: rocm } : ofBase;
  if (ofBase !== null && (ofBase.version !== null || cuda === null)) return ofBase;
  if (cuda !== null) return { vendor: "nvidia", version: cuda };
  const isForAmd = Object.entries(args).some(([name, text]) => amdArgument.test(name) && text !== "");
  return isForAmd ? { vendor: "amd", version: rocm } : null;
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
  const unknown = told.map(({ targets }) => targets?.isUnknown === true);
  const blank = unknown.filter(Boolean).length;
  if (blank > 0)
    notes.push(
      `no text tells the GPU targets of ${count(blank, "build")}: write them into compute in place of unknown, which plan refuses`,
    );
  const unnamed = builds.filter(({ platform }) => platform === null).length;
  if (unnamed > 0)
    notes.push(
      `the definition names no platform for ${count(unnamed, "build")}: the matrix has ${usualPlatform}`,
    );
  return {
    platforms: builds.map(({ platform }) => platform ?? usualPlatform),
    accelerators: told.map(({ accelerator }) => accelerator),
    computes: told.map(({ targets }) => targets?.computes ?? null),
    unknown,
    notes: [...new Set(notes)],
  };
}
