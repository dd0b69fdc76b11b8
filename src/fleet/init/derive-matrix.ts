/** Derives a matrix from original builds: its axes, settings and exclusions. Pure. */

import { posix } from "node:path";
import { gpuAxes } from "../matrix/gpu-axes.ts";
import {
  type BuildHardware,
  type DockerfileOf,
  hardwareOf,
  toolkitArgument,
  usualPlatform,
} from "./build-hardware.ts";
import { none } from "../matrix/values.ts";
import { type Column, chooseAxes, type Factor, factorOf, factorsOf } from "./columns.ts";
import { type Defaults, gpuArgument } from "./gpu-targets.ts";
import type { OriginalBuild } from "./original-build.ts";
import {
  type Axis,
  axisNameFor,
  type DerivedMatrix,
  freeName,
  settleColumns,
  unknownTargets,
} from "./settle-columns.ts";

interface DeriveOptions {
  readonly dockerfileOf: DockerfileOf;
  /** True for the file: unknown GPU targets are unknown in it. False for a matrix that can be planned: some stand in for them. */
  readonly forFile: boolean;
  /** True to write lists of GPUs as templates of the compute axis, false to keep their texts. */
  readonly templates: boolean;
}

export function deriveMatrix(
  all: readonly OriginalBuild[],
  { dockerfileOf, forFile, templates }: DeriveOptions,
): { readonly matrix: DerivedMatrix; readonly notes: readonly string[] } {
  const builds = uniqueBuilds(all);
  const hardware = hardwareOf(builds, dockerfileOf);
  const columns = columnsOf(builds);
  const axes = axesOf(builds, hardware, columns, dockerfileOf);
  const { defaults } = dockerfileOf(builds[0]?.dockerfile ?? "");
  const given = givenArguments(columns, hardware, defaults, templates);
  // The machine is no axis: builds of one image need only one.
  const runners = builds.map(({ runner }) => (runner.length === 0 ? null : JSON.stringify(runner)));
  const settled = [...columns, { name: "runner", cells: runners }].filter(
    ({ name }) => !Object.hasOwn(given, argumentOf(name) ?? name),
  );
  const matrix = settleColumns(settled, axes, computeColumn(hardware, forFile), given);
  return { matrix: withRequires(matrix, hardware), notes: hardware.notes };
}

/** Gives each toolkit the condition that all Dockerfiles of its builds set. */
function withRequires(matrix: DerivedMatrix, hardware: BuildHardware): DerivedMatrix {
  const name = accelAxisOf(hardware);
  const { [name]: listed = [] } = matrix.axes;
  const values = listed.map((value) => {
    const own: Readonly<Record<string, unknown>> =
      typeof value === "string" ? { toolkit: value } : { ...value };
    const rows = hardware.accelerators.filter((each) => each && Object.values(own).includes(each.release));
    const [require = null, ...others] = new Set(rows.map((each) => each?.require ?? null));
    return require === null || others.length > 0 ? value : { ...own, require };
  });
  return { ...matrix, axes: { ...matrix.axes, ...(listed.length > 0 && { [name]: values }) } };
}

/** A build may have several names. */
function uniqueBuilds(builds: readonly OriginalBuild[]): readonly OriginalBuild[] {
  const keyed = builds.map((build): [string, OriginalBuild] => {
    const { dockerfile, context, contexts, target, platform, args } = build;
    const named = [contexts, args].map((each) => Object.entries(each).sort());
    return [JSON.stringify([dockerfile, context, target, platform ?? usualPlatform, ...named]), build];
  });
  return [...new Map(keyed.reverse()).values()].reverse();
}

/** All in which builds may differ beside their hardware. */
function columnsOf(builds: readonly OriginalBuild[]): readonly Column[] {
  const column = (name: string, textOf: (build: OriginalBuild) => string | null): Column => ({
    name,
    cells: builds.map(textOf),
  });
  const names = [...new Set(builds.flatMap(({ args }) => Object.keys(args)))];
  return [
    column("template", ({ dockerfile }) => dockerfile),
    column("target", ({ target }) => target),
    column("context", ({ context }) => context),
    column("contexts", ({ contexts }) => textOfContexts(contexts)),
    ...names.map((name) => column(`arg:${name}`, ({ args }) => args[name] ?? null)),
  ];
}

/** As JSON; null for none. */
function textOfContexts(contexts: OriginalBuild["contexts"]): string | null {
  const named = Object.entries(contexts).sort();
  return named.length === 0 ? null : JSON.stringify(Object.fromEntries(named));
}

function namesOfFolders(contexts: string | null): string {
  const folders = Object.values(JSON.parse(contexts ?? "{}") as Record<string, string>);
  return folders.map((path) => posix.basename(path)).join("-");
}

/** The name of the argument that a column holds; null for another column. */
function argumentOf(column: string): string | null {
  return column.startsWith("arg:") ? column.slice(4) : null;
}

/** The axis that has the toolkits of all builds. */
function accelAxisOf({ accelerators }: BuildHardware): "cuda" | "accel" {
  const axes = accelerators.flatMap((each) => (each === null ? [] : [gpuAxes[each.vendor].axis]));
  const [axis] = axes;
  return axes.every((each) => each === axis) ? (axis ?? "accel") : "accel";
}

/** Lists of GPU targets as JSON; null if no build has GPU code. */
function computeColumn({ computes, unknown }: BuildHardware, forFile: boolean): Column | null {
  if (computes.every((each) => each === null || each.length === 0)) return null;
  const cells = computes.map((each, row) => {
    if (each === null) return null;
    return JSON.stringify(forFile && unknown[row] ? [unknownTargets] : each.length === 0 ? [none] : each);
  });
  return { name: "compute", cells };
}

function axesOf(
  builds: readonly OriginalBuild[],
  hardware: BuildHardware,
  columns: readonly Column[],
  dockerfileOf: DockerfileOf,
): readonly Axis[] {
  const platform = { name: "platform", cells: hardware.platforms };
  const name = accelAxisOf(hardware);
  const labelOf = ({ vendor, release }: NonNullable<BuildHardware["accelerators"][number]>) =>
    name === "accel" ? `${gpuAxes[vendor].key}-${release}` : release;
  const accel = { name, cells: hardware.accelerators.map((each) => each && labelOf(each)) };
  const rows = { ...accel, cells: accel.cells.map((label) => label ?? "none") };
  const hasAccelerators = accel.cells.some((label) => label !== null);
  const own: readonly Column[] = hasAccelerators ? [platform, rows] : [platform];
  const isHardware = (factor: Factor) => factor.columns.every((each) => own.includes(each));
  const ofHardware = own.map((each) => factorOf([each])).filter(({ size }) => size > 1);
  const axes = own.map(hardwareAxis).reverse();
  for (const factor of chooseAxes([...ofHardware, ...factorsOf(columns)], isHardware))
    if (!isHardware(factor)) axes.push(freeAxis(factor, builds, dockerfileOf, axes));
  return axes;
}

/** The arguments that the cuda and compute axes set by templates. */
function givenArguments(
  columns: readonly Column[],
  hardware: BuildHardware,
  defaults: Defaults,
  templates: boolean,
): Readonly<Record<string, string>> {
  const { accelerators, computes, unknown } = hardware;
  const cudaTargets = gpuArgument("nvidia");
  const given: Record<string, string> = {};
  if (accelAxisOf(hardware) === "accel") return given;
  const toolkits = accelerators.map((each) => each?.release ?? null);
  const names = new Set<string>();
  for (const { name, cells } of columns) {
    const argument = argumentOf(name);
    if (argument === null) continue;
    names.add(argument);
    const isToolkit = toolkitArgument.test(argument) && cells.every((text, row) => text === toolkits[row]);
    const isList = templates && cudaTargets.test(argument) && !unknown.includes(true);
    const template = isList ? templateOf(cells, computes) : null;
    if (isToolkit) given[argument] = "{{cuda.toolkit}}";
    else if (template !== null) given[argument] = template;
  }
  // The cuda axis sets the Dockerfile's argument, even if the definition leaves it at its default.
  for (const [name, text] of defaults)
    if (toolkitArgument.test(name) && !names.has(name) && toolkits.every((each) => each === text))
      given[name] = "{{cuda.toolkit}}";
  return given;
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

/** The axis of a column whose name and texts are the field's own. */
function hardwareAxis(column: Column): Axis {
  const factor = factorOf([column]);
  return { name: column.name, factor, labels: labelsOf(factor, column.cells), column: column.name };
}

function labelsOf({ classes, size }: Factor, texts: Column["cells"]): readonly string[] {
  return Array.from({ length: size }, (_, number) => texts[classes.indexOf(number)] ?? "");
}

/** The axis of columns that vary together. One of the columns gives the axis its name, and the labels too if the column tells all values apart. */
function freeAxis(
  factor: Factor,
  builds: readonly OriginalBuild[],
  dockerfileOf: DockerfileOf,
  before: readonly Axis[],
): Axis {
  const shortest = [...factor.columns].sort((one, other) => one.name.length - other.name.length);
  const find = (pattern: RegExp) => shortest.find(({ name }) => pattern.test(name));
  const column =
    find(/^template$/) ?? find(/^target$/) ?? find(/^arg:.*_VERSION$/i) ?? find(/^arg:/) ?? factor.columns[0];
  const argument = argumentOf(column?.name ?? "");
  const wanted =
    { template: "backend", target: "flavor" }[column?.name ?? ""] ?? axisNameFor(argument ?? "variant");
  const used = before.map((axis) => axis.name);
  const name = freeName(wanted, used);
  const texts = (column?.cells ?? []).map((text, row) => {
    if (column?.name === "template") return shortName(text ?? "");
    if (column?.name === "contexts") return namesOfFolders(text) || "none";
    const standard =
      argument === null ? null : dockerfileOf(builds[row]?.dockerfile ?? "").defaults.get(argument);
    return text || standard || "default";
  });
  const labels = labelsOf(factor, texts);
  if (new Set(labels).size === factor.size)
    return { name, factor, labels, column: column?.name === "contexts" ? null : (column?.name ?? null) };
  // Labels of one column are not unique: add the texts of the others.
  const whole = labelsOf(
    factor,
    texts.map((text, row) =>
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
