/** Reads the hardware that each original build is for: its platform, accelerator and GPU targets. Pure. */

import { count } from "../../io/table.ts";
import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import { type BaseToolkit, readBaseToolkit } from "../dockerfile/base-toolkit.ts";
import type { Instructions } from "../dockerfile/instructions.ts";
import { readStages, runBaseOf, stageOf } from "../dockerfile/stages.ts";
import { gpuAxes } from "../matrix/gpu-axes.ts";
import { compilesNothing, type Defaults, namedTargets } from "./gpu-targets.ts";
import type { OriginalBuild } from "./original-build.ts";
import { compilesFor, endsOf } from "./nvidia-computes.ts";
import { ownRequire } from "./own-require.ts";

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
  /** The argument or base that speaks of an accelerator where nothing tells its toolkit, for messages. */
  readonly hint: string | null;
}

interface Accelerator {
  readonly vendor: BaseToolkit["vendor"];
  /** `12.9.1`, `7.2` */
  readonly release: string;
  /** The condition that the Dockerfile itself gives to the image; null if it gives none. */
  readonly require: string | null;
}

interface BuildTargets {
  /** As the build names them; null if no text does. */
  readonly text: string | null;
  /** Those that the toolkit compiles for GPUs of the platform; if unknown, stand-ins until the user writes the targets. Empty if the build compiles none. */
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

type Arguments = readonly (readonly [name: string, text: string | null])[];

interface Toolkit {
  /** The version that arguments name. */
  readonly versionIn: (own: Arguments, all: Arguments) => string | null;
  /** Words in a build's arguments and base that speak of the toolkit. */
  readonly words: RegExp;
  /** True if a build whose base does not tell has the toolkit, by its own arguments or the Dockerfile's too. */
  readonly isIn: (own: Arguments, all: Arguments) => boolean;
  /** True for a target that the toolkit compiles for GPUs of the platform, as far as is known. */
  readonly compiles: (release: string, target: string, platform: string) => boolean;
  readonly requireOf: (build: OriginalBuild, dockerfile: OriginalDockerfile) => string | null;
  /** Targets until the user writes some. */
  readonly standIn: (release: string) => readonly string[];
}

const toolkits: Readonly<Record<GpuVendor, Toolkit>> = {
  nvidia: {
    versionIn: versionOfCuda,
    words: /(?<![a-z0-9])(nvidia|(cuda|cublas|cudnn)\d*|cu1\d{2,3})(?![a-z0-9])/i,
    isIn: (own, all) => versionOfCuda(own, all) !== null,
    compiles: compilesFor,
    requireOf: ownRequire,
    standIn: endsOf,
  },
  amd: {
    versionIn: (_, all) => textOf(all, /^ROCM_VERSION$/i),
    words: /(?<![a-z0-9])(rocm|hip|hipblas)\d*(?![a-z0-9])/i,
    isIn: (own) =>
      textOf(own, /^(ROCM_VERSION|PYTORCH_ROCM_ARCH|AMDGPU_TARGETS|ROCM_DOCKER_ARCH)$/i) !== null,
    compiles: () => true,
    requireOf: () => null,
    standIn: () => ["gfx90a"],
  },
};

/** One argument has the whole version, or two of the build have its parts: a Dockerfile's defaults of parts may belong to other builds. */
function versionOfCuda(own: Arguments, all: Arguments): string | null {
  const [major, minor] = [textOf(own, /^CUDA_MAJOR(_VERSION)?$/i), textOf(own, /^CUDA_MINOR(_VERSION)?$/i)];
  const parts = major === null || minor === null ? null : `${major}.${minor}`;
  return textOf(all, toolkitArgument) ?? parts;
}

/** The first text of an argument that is not empty. */
function textOf(all: Arguments, pattern: RegExp): string | null {
  return all.find(([name, text]) => pattern.test(name) && text)?.[1] ?? null;
}

/** The platform of a definition that names none. */
export const usualPlatform = "linux/amd64";

export function toldOf(build: OriginalBuild, dockerfile: OriginalDockerfile): Told {
  const nothing: Told = { accelerator: null, unknown: null, targets: null, hint: null };
  const found = acceleratorOf(build, dockerfile);
  if (found === null) return { ...nothing, hint: hintIn(build, dockerfile) };
  const { vendor, version } = found;
  const release = gpuAxes[vendor].releaseOf(version ?? "");
  if (release === null) return { ...nothing, unknown: found };
  const { compiles, requireOf, standIn } = toolkits[vendor];
  const { text, targets } = namedTargets(build, dockerfile, vendor);
  const platform = build.platform ?? usualPlatform;
  const usable = (targets ?? []).filter((each) => compiles(release, each, platform));
  const isNone = text === null && gpuAxes[vendor].goesWithoutCode && compilesNothing(build, dockerfile);
  const isUnknown = usable.length === 0 && !isNone;
  return {
    ...nothing,
    accelerator: { vendor, release, require: requireOf(build, dockerfile) },
    targets: {
      text,
      isUnknown,
      computes: isUnknown ? standIn(release) : usable,
      without: (targets ?? []).filter((each) => !usable.includes(each)),
    },
  };
}

function baseOf({ args, target, platform }: OriginalBuild, { instructions }: OriginalDockerfile): string {
  return runBaseOf(instructions, target, { args, platform: platform ?? usualPlatform });
}

/** What the image has for GPUs: the toolkit of the base, else the toolkit of the arguments. */
function acceleratorOf(build: OriginalBuild, dockerfile: OriginalDockerfile): BaseToolkit | null {
  const base = baseOf(build, dockerfile);
  const own = Object.entries(build.args);
  const all = [...own, ...dockerfile.defaults];
  // The stage that compiles may start from a base that an argument names, and the image from another.
  const [ofBase = null] = [base, ...Object.values(build.args)].flatMap((ref) => readBaseToolkit(ref) ?? []);
  if (ofBase !== null && speaksOfOther(build, dockerfile, ofBase.vendor)) return null;
  const vendor = ofBase?.vendor ?? gpuVendors.find((each) => toolkits[each].isIn(own, all));
  if (vendor === undefined) return null;
  return { vendor, version: ofBase?.version ?? toolkits[vendor].versionIn(own, all) };
}

const otherAccelerators = /(?<![a-z0-9])(vulkan|sycl|oneapi|musa|cann)(?![a-z0-9])/i;

/** True where the target's own steps speak of another accelerator than its base, and not of the base's: nobody knows which the image has. */
function speaksOfOther(
  { target }: OriginalBuild,
  { instructions: dockerfile }: OriginalDockerfile,
  vendor: GpuVendor,
): boolean {
  if (target === null) return false;
  const stages = readStages(dockerfile);
  const own = dockerfile.instructions.filter(
    (each) => /^(RUN|ENV)$/.test(each.keyword) && stages[stageOf(each, stages)]?.name === target,
  );
  const texts = own.map(({ text, documents }) => `${text}\n${documents}`);
  const speak = (words: RegExp) => texts.some((text) => words.test(text));
  const others = gpuVendors.filter((each) => each !== vendor).map((each) => toolkits[each].words);
  return !speak(toolkits[vendor].words) && [...others, otherAccelerators].some(speak);
}

function speaks({ keyword, text, documents }: Instructions["instructions"][number]): boolean {
  const isStep = keyword === "RUN" || keyword === "ENV";
  return isStep && gpuVendors.some((vendor) => toolkits[vendor].words.test(`${text}\n${documents}`));
}

function hintIn(build: OriginalBuild, dockerfile: OriginalDockerfile): string | null {
  const isOff = (text: string) => /^(|0|off|false|no|none|null)$/i.test(text.trim());
  const texts: Arguments = [...Object.entries(build.args), ["FROM", baseOf(build, dockerfile)]];
  const found = texts.find(
    ([name, text]) =>
      text !== null &&
      !isOff(text) &&
      gpuVendors.some((vendor) => toolkits[vendor].words.test(`${name.replaceAll("_", " ")} ${text}`)),
  );
  return found?.join("=") ?? null;
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
  const none = told.filter(({ targets }) => targets?.computes.length === 0).length;
  if (none > 0)
    notes.push(
      `no step of ${count(none, "build")} has a compiler of GPU code, so the rows have no compute: imgmatch build names the GPU code of an image that has some`,
    );
  const speaking = new Set(
    builds.flatMap(({ dockerfile }, row) => {
      const { accelerator, hint } = told[row] ?? {};
      const { instructions } = dockerfileOf(dockerfile).instructions;
      return accelerator === null && hint === null && instructions.some(speaks) ? [dockerfile] : [];
    }),
  );
  if (speaking.size > 0)
    notes.push(
      `steps of ${[...speaking].join(", ")} speak of CUDA or ROCm, and builds of it have no accelerator: if their images have GPU code, write the accelerator into the matrix`,
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
