/** Finds the GPU targets that a build names: in arguments, their defaults, ENV, and flags of compilers in RUN; or that it has none. Pure. */

import { parseAmdTarget } from "../../hardware/amd-target.ts";
import { remember } from "../../io/collections.ts";
import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import { readBaseToolkit } from "../dockerfile/base-toolkit.ts";
import type { Instructions } from "../dockerfile/instructions.ts";
import { StageVariables } from "../dockerfile/stage-variables.ts";
import { copiedFrom, readStages, stageOf, usedStages } from "../dockerfile/stages.ts";
import type { OriginalBuild } from "./original-build.ts";
import { toolOf } from "./reading.ts";

interface TargetWords {
  /** The variables by which compilers get their targets. */
  readonly variables: string;
  readonly options: RegExp;
  /** The code for one word of a list; null for another word. */
  readonly codeOf: (word: string) => readonly string[] | null;
}

/** The ways in which builds name GPU targets. Sources: CMake, PyTorch's cpp_extension, bindgen_cuda (candle), clang and ROCm's own builds. */
const words: Readonly<Record<GpuVendor, TargetWords>> = {
  nvidia: {
    variables:
      "TORCH_CUDA_ARCH_LIST|CMAKE_CUDA_ARCHITECTURES|CUDA_DOCKER_ARCH|CUDA_ARCH(?:ITECTURE)?S|CUDAARCHS|CUDA_COMPUTE_CAP",
    options: /(?<![\w-])--?(?:gpu-architecture|gpu-code|gencode|arch)(?:=|\s+)["']?[\w=,[\]]+/g,
    codeOf: smOf,
  },
  amd: {
    variables: "PYTORCH_ROCM_ARCH|(?:CMAKE_)?HIP_ARCHITECTURES|AMDGPU_TARGETS|GPU_TARGETS|ROCM_DOCKER_ARCH",
    options: /(?<![\w-])--offload-arch=\S+/g,
    codeOf: (word) => {
      const target = parseAmdTarget(word.replace(/^--offload-arch=/, ""));
      return target === null ? null : [target];
    },
  },
};

/** Matches the name of an argument with targets. */
export function gpuArgument(vendor: GpuVendor): RegExp {
  return new RegExp(`^(?:${words[vendor].variables})$`, "i");
}

/**
 * The first place with targets counts, in this order: the build's own arguments, defaults of the Dockerfile, RUN, ENV. The targets are unknown
 * where two texts of one kind differ, and where a part of a text is no target.
 *
 * @returns `text`: the targets as the build names them, for messages; null if no text does. `targets`: as a matrix writes them; null if unknown
 */
export function namedTargets(
  build: OriginalBuild,
  { instructions, defaults }: { readonly instructions: Instructions; readonly defaults: Defaults },
  vendor: GpuVendor,
): { readonly text: string | null; readonly targets: readonly string[] | null } {
  const name = gpuArgument(vendor);
  const ofNames = (pairs: Iterable<readonly [string, string | null]>) =>
    [...pairs].flatMap(([key, text]) => (name.test(key) && text ? [text] : []));
  const left = [...defaults].filter(([key]) => !Object.hasOwn(build.args, key));
  const written = textsIn(build, instructions, vendor);
  const kinds = [ofNames(Object.entries(build.args)), ofNames(left), written("RUN"), written("ENV")];
  const listing = kinds.find((texts) => texts.some((text) => targetsIn(text) !== null)) ?? [];
  const lists = new Set(listing.map((text) => targetsIn(text)?.join(" ") ?? null));
  const [only] = lists;
  if (lists.size === 1 && only != null) return { text: listing.join(", "), targets: only.split(" ") };
  return { text: [...new Set(kinds.flat())].join(", ") || null, targets: null };
}

/** The defaults of a Dockerfile's `ARG`s by name; null for an `ARG` without one. */
export type Defaults = ReadonlyMap<string, string | null>;

/** The texts in `ENV` or `RUN` of the stages that the build needs, with known variables expanded. */
function textsIn(
  build: OriginalBuild,
  dockerfile: Instructions,
  vendor: GpuVendor,
): (keyword: "RUN" | "ENV") => readonly string[] {
  const { args, target, platform } = build;
  const given = { args, platform: platform ?? "linux/amd64" };
  const stages = readStages(dockerfile, given);
  const used = usedStages(dockerfile, stages, target);
  const byStage = new Map<number, StageVariables>();
  const assigned = new RegExp(
    `(?<![A-Za-z0-9_])(?:-D)?(?:${words[vendor].variables})(?::\\w+)?=("[^"]*"|'[^']*'|(?:\\\\;|[^\\s"'&|)])+)`,
    "gi",
  );
  const found = dockerfile.instructions.flatMap((instruction) => {
    const index = stageOf(instruction, stages);
    if (index < 0 || !used.has(index)) return [];
    const variables = remember(
      byStage,
      index,
      () => byStage.get(stages[index]?.above ?? -1)?.forChild() ?? new StageVariables(dockerfile, given),
    );
    variables.read(instruction);
    if (instruction.keyword !== "RUN" && instruction.keyword !== "ENV") return [];
    const text = `${instruction.text}\n${instruction.documents}`;
    const values = Array.from(text.matchAll(assigned), ([, value = ""]) => value.replace(/["'\\]/g, ""));
    const flags = [...text.matchAll(words[vendor].options)].map(([flag]) => flag);
    return [...values, ...(flags.length > 0 ? [flags.join(" ")] : [])].map((value) => ({
      keyword: instruction.keyword,
      text: variables.expand(value).value ?? value,
    }));
  });
  return (keyword) => found.flatMap((each) => (each.keyword === keyword ? [each.text] : []));
}

/**
 * The targets that a text lists, as a matrix writes them; null if a part of the text is none.
 *
 * @example
 * targetsIn("8.0;9.0+PTX"); // ["8.0", "9.0+ptx"]
 * targetsIn("75-real;90"); // ["7.5", "9.0+ptx"]
 * targetsIn("-gencode arch=compute_90,code=[sm_90,compute_90]"); // ["9.0+ptx"]
 */
export function targetsIn(text: string): readonly string[] | null {
  const listed = text
    .replace(/^\s*["']|["']\s*$/g, "")
    .split(/[\s;,]+/)
    .filter((word) => word !== "");
  const targets = /-(arch|gencode|gpu)/.test(text) ? optionTargets(text) : listed;
  const found: string[] = [];
  for (const word of targets) {
    const code = gpuVendors.flatMap((vendor) => words[vendor].codeOf(word) ?? []);
    if (code.length === 0) return null;
    found.push(...code);
  }
  if (found.length === 0) return null;
  const code = new Set(found);
  return [...code].flatMap((each) => {
    const virtual = each.replace(/^sm_/, "compute_");
    if (each.startsWith("compute_")) return code.has(each.replace(/^compute_/, "sm_")) ? [] : [each];
    const name = each.replace(/^sm_(\d+)(\d)/, "$1.$2");
    return [each !== virtual && code.has(virtual) ? `${name}+ptx` : name];
  });
}

/** `-arch=sm_80` is short for SASS and PTX of it (nvcc manual, "GPU Feature List"). */
function optionTargets(text: string): readonly string[] {
  const coded = [...text.matchAll(/(?<!gen)code=\[?([\w,]+)/g)].flatMap(([, list = ""]) => list.split(","));
  const short = [...text.matchAll(/-(?:gpu-architecture|arch)(?:=|\s+)["']?(\w+)/g)];
  const alone = short.flatMap(([, name = ""]) => [
    name,
    ...(/^sm_/.test(name) ? [name.replace("sm_", "compute_")] : []),
  ]);
  return [...text.matchAll(/--offload-arch=(\S+)/g)].map(([, name = ""]) => name).concat(coded, alone);
}

/** `sm_80` and `compute_80` for one word of a list; null for another word. */
function smOf(word: string): readonly string[] | null {
  const [, kind, named] = /^(sm|compute)_(\d{2,3}[af]?)$/.exec(word) ?? [];
  if (named !== undefined) return [`${kind}_${named}`];
  const [, major, minor, end = "", ptx] = /^(\d{1,2})\.(\d)([af]?)(\+PTX)?$/i.exec(word) ?? [];
  const number = `${major}${minor}${end}`;
  if (major !== undefined) return [`sm_${number}`, ...(ptx === undefined ? [] : [`compute_${number}`])];
  const [, cmake, only] = /^(\d{2,3}[af]?)(?:-(real|virtual))?$/.exec(word) ?? [];
  if (cmake === undefined) return null;
  return [...(only === "virtual" ? [] : [`sm_${cmake}`]), ...(only === "real" ? [] : [`compute_${cmake}`])];
}

/** NVIDIA's images without nvcc. */
const withoutCompiler = /^(?:docker\.io\/)?nvidia\/cuda:[\d.]+-(?:cudnn\d*-)?(?:base|runtime)(?:-|$)/;
/** Docker's official images, of which none has CUDA. */
const official = /^(?:docker\.io\/(?:library\/)?)?[a-z0-9-]+(?:[:@]|$)/;
/** Packages and settings by which a step gets or steers a compiler of GPU code. */
const compilers =
  /nvcc|cuda-(?:toolkit|compiler|devel|\d)|cuda-[\w-]*-dev|\bcuda(?:toolkit)?-dev|cmake|(?:ARCH_LIST|CUDA_ARCH)|no-binary|no-build-isolation/i;

/** True if none of the build's stages has the compiler of GPU code. What pip installs is compiled already, and `build` looks. */
export function compilesNothing(
  { args, target, platform }: OriginalBuild,
  { instructions: dockerfile }: { readonly instructions: Instructions },
): boolean {
  const given = { args, platform: platform ?? "linux/amd64" };
  const stages = readStages(dockerfile, given);
  const used = usedStages(dockerfile, stages, target);
  return dockerfile.instructions.every((instruction) => {
    const index = stageOf(instruction, stages);
    const stage = stages[index];
    if (!used.has(index) || stage === undefined) return true;
    const { keyword, text, documents } = instruction;
    if (keyword === "FROM") {
      if (stage.above >= 0) return true;
      const base = stage.ref.ok ? stage.ref.value : null;
      return base !== null && (withoutCompiler.test(base) || (official.test(base) && !readBaseToolkit(base)));
    }
    const tool = toolOf(instruction);
    if (keyword === "RUN" && compilers.test(`${text}\n${documents}`)) return false;
    if (tool !== null && tool !== "python") return false;
    return copiedFrom(instruction).every((name) => !/cuda|nvidia|rocm/i.test(name));
  });
}
