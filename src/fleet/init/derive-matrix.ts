/** Derives a matrix from original builds: its axes, settings and exclusions. Pure. */

import { posix } from "node:path";
import { findToolkit } from "../../hardware/cuda-toolkits.ts";
import { isTegra } from "../../hardware/gpu-target.ts";
import { chooseAxes, type Column, type Factor, factorOf, factorsOf } from "./columns.ts";
import type { OriginalBuild } from "./original-build.ts";
import { compiledBy, proposeComputes } from "./propose-axes.ts";
import { type Axis, axisNameFor, type DerivedMatrix, freeName, settleColumns } from "./settle-columns.ts";
import { capabilitiesIn } from "./vary-gpu.ts";

/** The defaults of a Dockerfile's `ARG`s by name; null for an `ARG` without one. */
export type Defaults = ReadonlyMap<string, string | null>;

interface DeriveOptions {
  readonly defaultsOf: (dockerfile: string) => Defaults;
  /** True to write lists of GPUs as templates of the compute axis, false to keep their texts. */
  readonly templates: boolean;
}

interface Derived {
  readonly matrix: DerivedMatrix;
  readonly notes: readonly string[];
}

const toolkitArgument = /^CUDA_VERSION$/i;
const gpuArgument =
  /^(TORCH_CUDA_ARCH_LIST|CMAKE_CUDA_ARCHITECTURES|CUDA_DOCKER_ARCH|CUDA_ARCH(ITECTURE)?S|CUDAARCHS)$/i;
const amdArgument = /^(ROCM_VERSION|PYTORCH_ROCM_ARCH|AMDGPU_TARGETS|ROCM_DOCKER_ARCH)$/i;

/** The platform of a definition that names none. */
const usualPlatform = "linux/amd64";

export function deriveMatrix(
  all: readonly OriginalBuild[],
  { defaultsOf, templates }: DeriveOptions,
): Derived {
  const builds = uniqueBuilds(all);
  const notes: string[] = [];
  const argumentNames = [...new Set(builds.flatMap(({ args }) => Object.keys(args)))];
  const foundIn = (build: OriginalBuild, pattern: RegExp): string | null => {
    const all = [...Object.entries(build.args), ...defaultsOf(build.dockerfile)];
    return all.find(([name, text]) => pattern.test(name) && text)?.[1] ?? null;
  };
  const toolkits = builds.map((build) => {
    const text = foundIn(build, toolkitArgument);
    const found = text === null ? null : findToolkit(text);
    if (text !== null && found === null)
      notes.push(`${build.name}: no toolkit ${text} is known, so that no host is asked for it`);
    return found?.release ?? null;
  });
  const lists = builds.map((build, row) => (toolkits[row] === null ? null : foundIn(build, gpuArgument)));
  const computes = lists.map((text, row) => computesOf(text, toolkits[row] ?? null, platformOf(builds[row])));
  notes.push(...new Set(lists.flatMap((each, row) => leftOut(each, computes[row] ?? null))));
  const column = (name: string, cellOf: (build: OriginalBuild, row: number) => string | null): Column => ({
    name,
    cells: builds.map(cellOf),
  });
  const platform = column("platform", (build) => platformOf(build));
  const cuda = column("cuda", (_, row) => toolkits[row] ?? "none");
  const own: readonly Column[] = [
    column("template", ({ dockerfile }) => dockerfile),
    column("target", ({ target }) => target),
    column("context", ({ context }) => context),
    ...argumentNames.map((name) => column(`arg:${name}`, ({ args }) => args[name] ?? null)),
  ];
  const hasCuda = toolkits.some((each) => each !== null);
  const compute = column("compute", (_, row) =>
    computes[row] === null ? null : JSON.stringify(computes[row]),
  );
  const hardware = hasCuda ? [platform, cuda] : [platform];
  const isHardware = ({ columns }: Factor) => columns.every((each) => hardware.includes(each));
  const hardwareFactors = hardware.map((each) => factorOf([each])).filter(({ size }) => size > 1);
  const factors = [...hardwareFactors, ...factorsOf(own)];
  const chosen = chooseAxes(factors, isHardware);
  const axes = [...(hasCuda ? [hardwareAxis(cuda)] : []), hardwareAxis(platform)];
  for (const factor of chosen) if (!isHardware(factor)) axes.push(freeAxis(factor, builds, defaultsOf, axes));
  if (builds.every((build) => build.platform === null))
    notes.push(`the definition names no platform: the matrix has ${usualPlatform}`);
  if (argumentNames.some((name) => amdArgument.test(name)))
    notes.push("releases and targets of AMD are arguments: no host is asked for them, so pin their axis");
  const given: Record<string, string> = {};
  for (const { name, cells } of own) {
    const argument = name.replace(/^arg:/, "");
    if (argument === name || !hasCuda) continue;
    const isToolkit = toolkitArgument.test(argument) && cells.every((text, row) => text === toolkits[row]);
    const template = templates && gpuArgument.test(argument) ? templateOf(cells, computes) : null;
    if (isToolkit) given[argument] = "{{cuda.toolkit}}";
    else if (template !== null) given[argument] = template;
  }
  // The cuda axis sets the Dockerfile's argument, even if the definition leaves it at its default.
  const moved = [...defaultsOf(builds[0]?.dockerfile ?? "").keys()].find((name) =>
    toolkitArgument.test(name),
  );
  if (moved !== undefined && !argumentNames.includes(moved) && toolkits.every((each) => each !== null))
    given[moved] = "{{cuda.toolkit}}";
  const settled = own.filter(({ name }) => !Object.hasOwn(given, name.replace(/^arg:/, "")));
  return { matrix: settleColumns(settled, axes, hasCuda ? compute : null, given), notes };
}

/** A build may have several names. */
function uniqueBuilds(builds: readonly OriginalBuild[]): readonly OriginalBuild[] {
  const keyed = builds.map((build): [string, OriginalBuild] => {
    const { dockerfile, context, target, platform, args } = build;
    return [
      JSON.stringify([dockerfile, context, target, platform ?? usualPlatform, Object.entries(args).sort()]),
      build,
    ];
  });
  return [...new Map(keyed.reverse()).values()].reverse();
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

function platformOf(build: OriginalBuild | undefined): string {
  return build?.platform ?? usualPlatform;
}

/** The template that gives every row its list, made from the compute axis; null if there is none. */
function templateOf(cells: Column["cells"], computes: readonly (readonly string[] | null)[]): string | null {
  const isJoinedBy = (between: string) =>
    cells.every(
      (text, row) => text === (computes[row] ?? []).map((each) => each.replace("+ptx", "+PTX")).join(between),
    );
  if (isJoinedBy(";")) return "{{gpu.torch}}";
  return isJoinedBy(" ") ? '{{join (dotted gpu.targets) " "}}' : null;
}

function hardwareAxis(column: Column): Axis {
  const factor = factorOf([column]);
  return { name: column.name, factor, labels: labelsOf(factor, column.cells), column: column.name };
}

function labelsOf({ classes, size }: Factor, texts: Column["cells"]): readonly string[] {
  return Array.from({ length: size }, (_, number) => texts[classes.indexOf(number)] ?? "");
}

function freeAxis(
  factor: Factor,
  builds: readonly OriginalBuild[],
  defaultsOf: DeriveOptions["defaultsOf"],
  before: readonly Axis[],
): Axis {
  const shortest = [...factor.columns].sort((one, other) => one.name.length - other.name.length);
  const find = (pattern: RegExp) => shortest.find(({ name }) => pattern.test(name));
  const column =
    find(/^template$/) ?? find(/^target$/) ?? find(/^arg:.*_VERSION$/i) ?? find(/^arg:/) ?? factor.columns[0];
  const argument = column?.name.startsWith("arg:") ? column.name.slice(4) : null;
  const wanted =
    { template: "backend", target: "flavor" }[column?.name ?? ""] ?? axisNameFor(argument ?? "variant");
  const used = before.map((axis) => axis.name);
  const name = freeName(wanted, used);
  const plain = (column?.cells ?? []).map((text, row) => {
    if (column?.name === "template") return shortName(text ?? "");
    const standard = argument === null ? null : defaultsOf(builds[row]?.dockerfile ?? "").get(argument);
    return text || standard || "default";
  });
  const labels = labelsOf(factor, plain);
  if (new Set(labels).size === factor.size) return { name, factor, labels, column: column?.name ?? null };
  // Labels of one column are not unique: add the texts of the others.
  const whole = labelsOf(
    factor,
    plain.map((text, row) =>
      [text, ...factor.columns.filter((each) => each !== column).map(({ cells }) => cells[row])]
        .filter(Boolean)
        .join("-"),
    ),
  ).map((text) => text.replace(/[^\w.-]+/g, "-").slice(0, 40));
  const numbered = whole.map((text, index) =>
    whole.indexOf(text) === index ? text : `${text}-${index + 1}`,
  );
  return { name, factor, labels: numbered, column: null };
}

/** `.devops/cuda.Dockerfile` and `docker/Dockerfile.cuda`: cuda. */
function shortName(path: string): string {
  const file = posix.basename(path);
  const named = file
    .replace(/^(Dockerfile|Containerfile)[._-]?/i, "")
    .replace(/[._-]?(Dockerfile|Containerfile)$/i, "");
  if (named !== "") return named;
  const folder = posix.basename(posix.dirname(path));
  return folder === "." || folder === "" ? "main" : folder;
}
