/** Parses the values of axes: one parser for each kind of value. */

import type { Place, Problem } from "../../errors.ts";
import { findMarch, unknownWithout } from "../../hardware/cpu-marches.ts";
import { fixMarch, isNative } from "../../hardware/compiler-names.ts";
import { marchPlatforms, readPlatform } from "../../hardware/march-platforms.ts";
import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import { isSlipOf } from "../../io/suggest.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";
import { parseComputeValue } from "./compute-values.ts";
import { exampleOf, gpuAxes } from "./gpu-axes.ts";
import type {
  AccelValue,
  AxisValue,
  Compiler,
  FreeValue,
  MarchValue,
  Matrix,
  PlatformValue,
} from "./matrix.ts";
import { type Parsed, refused, valueProblem } from "./matrix-problems.ts";
import { kindOfAxis, type ToolkitInput, type ValueInput } from "./value-schemas.ts";
import { broughtBy, broughtProblems } from "./settings.ts";

/** The CPU-only row in the names of PyTorch's wheels. */
const cpu = "cpu";

/** The label of the CPU-only row, and of its compute capability. */
export const none = "none";

function isCpuRow(text: string): boolean {
  return text === none || text === cpu;
}

export function parseCudaValue(input: ValueInput<"cuda">, at: Place): Parsed<AccelValue> {
  const entry = typeof input === "string" ? { toolkit: input } : input;
  const { toolkit } = entry;
  const chosen = isCpuRow(toolkit) ? cpuRow : { vendor: "nvidia" as const, text: toolkit, label: toolkit };
  return accelValue(chosen, entry, broughtBy(input, "cuda", at), at);
}

/** The vendor whose toolkit has this key. */
function vendorOfKey(key: string): GpuVendor | undefined {
  return gpuVendors.find((vendor) => gpuAxes[vendor].key === key);
}

/** `{ cuda: "12.8.1" }`, `{ rocm: "7.2" }`; a text is short for `{ accel: none }` or `{ accel: vulkan }`. */
export function parseAccelValue(input: ValueInput<"accel">, at: Place): Parsed<AccelValue> {
  const entry: Exclude<ValueInput<"accel">, string> = typeof input === "string" ? { accel: input } : input;
  const keys = gpuVendors.map((vendor) => gpuAxes[vendor].key);
  const chosen = [...keys, "accel" as const].flatMap((key) => {
    const text = entry[key];
    return text === undefined ? [] : [{ key, text }];
  });
  const [one, other] = chosen;
  if (one === undefined || other !== undefined)
    return refused(
      `a value of accel has exactly one of ${keys.join(", ")} and accel, and here stands ${chosen.map(({ key }) => key).join(" and ") || "none"}`,
      `write ${examples(", ")}, or { accel: none }`,
      at,
    );
  const brought = broughtBy(input, "accel", at);
  const { key, text } = one;
  const vendor = vendorOfKey(key);
  if (vendor !== undefined && isCpuRow(text)) {
    const fix = "write none, or { accel: none }, for the CPU-only row";
    return refused(`${JSON.stringify(text)} is no version of ${gpuAxes[vendor].name}`, fix, at);
  }
  if (vendor !== undefined) return accelValue({ vendor, text, label: `${key}-${text}` }, entry, brought, at);
  const word = text === cpu ? none : text;
  const fix = whyNoAccelerator(word);
  return fix === null
    ? accelValue({ vendor: null, text: word, label: word }, entry, brought, at)
    : refused(`${JSON.stringify(text)} is no accelerator that a value can be`, fix, at);
}

/** Accelerators that imgmatch does not judge, from real build definitions. Other words are accepted too, if they are no slip of these. */
const unjudged = "vulkan sycl openvino xpu musa cann hpu tpu neuron metal opencl maca l4t".split(" ");

/** `{ cuda: "12.8.1" }, or { rocm: "7.2" }` */
function examples(between: string): string {
  return gpuVendors.map((vendor) => exampleOf(vendor)).join(between);
}

/** The fix for a word that is no accelerator; null for one that may be. */
function whyNoAccelerator(word: string): string | null {
  if (word === none || unjudged.includes(word)) return null;
  const [, key = "", version] = /^([a-z]+)-?(\d[\d.]*)?$/.exec(word) ?? [];
  const named = vendorOfKey(key);
  if (named !== undefined) return `write ${exampleOf(named, version)}`;
  const versioned = gpuVendors.find((vendor) => gpuAxes[vendor].releaseOf(word) !== null) ?? gpuVendors[0];
  if (/^(cu)?\d/.test(word)) return `write ${exampleOf(versioned, word)}`;
  if (/^(nvidia|amd|hip|gpu|gfx.*)$/.test(word)) return `write ${examples(", or ")}`;
  const known = [none, ...gpuVendors.map((vendor) => gpuAxes[vendor].key), ...unjudged];
  const near = known.find((each) => isSlipOf(word, each));
  if (near !== undefined) return `did you mean ${near}?`;
  return /^[a-z][a-z0-9_.-]*$/.test(word) ? null : "name it in lower-case letters and digits, such as vulkan";
}

type AccelEntry = Pick<Exclude<ValueInput<"cuda">, string>, "label" | "platforms" | "compiler" | "cpuFloor"> &
  ToolkitInput;

/** `text`: the version of the vendor's toolkit; without a vendor none, or an accelerator that imgmatch does not judge. */
interface Accelerator {
  readonly vendor: GpuVendor | null;
  readonly text: string;
  readonly label: string;
}

const cpuRow: Accelerator = { vendor: null, text: none, label: none };

function accelValue(
  { vendor, text, label }: Accelerator,
  entry: AccelEntry,
  brought: ReturnType<typeof broughtBy>,
  at: Place,
): Parsed<AccelValue> {
  const problems: Problem[] = [];
  const cpuFloor = entry.cpuFloor === undefined ? null : findMarch(entry.cpuFloor);
  if (entry.cpuFloor !== undefined && cpuFloor === null) problems.push(unknownMarch(entry.cpuFloor, at));
  for (const platform of entry.platforms ?? []) {
    if (marchPlatforms.includes(platform)) continue;
    problems.push(unknownPlatform(platform, at));
  }
  const isCpu = vendor === null && text === none;
  const takes = vendor === null ? [] : gpuAxes[vendor].takes;
  for (const key of ["driver", "require"] as const) {
    if (entry[key] === undefined || takes.includes(key) || (isCpu && key === "require")) continue;
    const whose = isCpu ? "the CPU-only row" : label;
    const what = key === "driver" ? "no driver" : "no CUDA to require";
    problems.push(valueProblem(`${whose} has ${what}`, `remove ${key} from this entry`, at));
  }
  const toolkit = vendor && gpuAxes[vendor].parseToolkit(text, entry, at);
  if (toolkit !== null && "problems" in toolkit) return { problems: [...problems, ...toolkit.problems] };
  if (problems.length > 0) return { problems };
  return {
    value: {
      kind: "accel",
      label: entry.label ?? label,
      ...brought,
      gpu: vendor && toolkit && { vendor, toolkit: toolkit.value },
      other: vendor !== null || isCpu ? null : text,
      platforms: entry.platforms ?? null,
      compiler: parseCompiler(entry.compiler),
      cpuFloor,
    },
  };
}

/** The vendor of the GPU code in the cells of a value; null for the CPU-only row and an accelerator that imgmatch does not judge. */
export function vendorOf({ gpu }: Pick<AccelValue, "gpu">): GpuVendor | null {
  return gpu?.vendor ?? null;
}

/** The names of a value beside its label: `cu128` of a toolkit, `sapphirerapids` of that march without a feature. */
export function otherNames(value: AxisValue): readonly string[] {
  switch (value.kind) {
    case "accel": {
      const { gpu, other } = value;
      if (gpu === null) return other === null ? [none, cpu] : [other];
      const { release } = gpu.toolkit;
      return [release, gpuAxes[gpu.vendor].shortOf(release)];
    }
    case "march":
      return [value.march.name];
    case "free":
      return [value.value];
    default:
      return [];
  }
}

/** Every value of the axes and of included cells, with the name of its axis. */
export function allValues({
  axes,
  include,
}: Pick<Matrix, "axes" | "include">): readonly (readonly [axis: string, AxisValue])[] {
  const product = axes.flatMap(({ name, values }) => values.map((value) => [name, value] as const));
  return [...product, ...include.flatMap(({ values }) => Object.entries(values))];
}

function parsePlatformValue(input: ValueInput<"platform">, at: Place): Parsed<PlatformValue> {
  const text = typeof input === "string" ? input : input.platform;
  const label = readPlatform(text);
  if (label !== null) return { value: { kind: "platform", label, ...broughtBy(input, "platform", at) } };
  return { problems: [unknownPlatform(text, at)] };
}

function unknownPlatform(text: string, at: Place): Problem {
  const fix = `the platforms are ${marchPlatforms.join(", ")}`;
  return valueProblem(`unknown platform ${JSON.stringify(text)}`, fix, at);
}

export function parseMarchValue(input: ValueInput<"march">, at: Place): Parsed<MarchValue> {
  const entry = typeof input === "string" ? { march: input } : input;
  const without = entry.without ?? [];
  const march = findMarch(entry.march);
  if (march === null) return { problems: [unknownMarch(entry.march, at)] };
  const unknown = unknownWithout(march, without);
  if (unknown.length > 0) {
    const kept = unknown.filter((each) => march.features.includes(each));
    if (kept.length > 0)
      return refused(
        `no option of the compilers leaves ${kept.join(", ")} out of ${march.name}`,
        "name a march that does not have it",
        at,
      );
    const features = `features of ${march.name}: ${march.features.join(" ")}`;
    return refused(`${march.name} has no feature ${unknown.join(", ")}`, features, at);
  }
  const label = entry.label ?? [march.name, ...without.map((feature) => `no-${feature}`)].join("-");
  return { value: { kind: "march", label, ...broughtBy(entry, "march", at), march, without } };
}

function parseFreeValue(input: ValueInput<"free">, at: Place): Parsed<FreeValue> {
  const { value, label = value } = typeof input === "string" ? { value: input } : input;
  return { value: { kind: "free", label, ...broughtBy(input, "free", at), value } };
}

/** Parses `gcc 12.2`. The schema has checked its form. */
export function parseCompiler(text: string | undefined): Compiler | null {
  const [, family, version] = /^(gcc|clang)[ -]([\d.]+)$/.exec(text ?? "") ?? [];
  return version === undefined ? null : { family: family as Compiler["family"], version };
}

/** By the kind of axis, as `valueShapes`. */
const valueParsers = {
  cuda: parseCudaValue,
  accel: parseAccelValue,
  compute: parseComputeValue,
  platform: parsePlatformValue,
  march: parseMarchValue,
  free: parseFreeValue,
} as const;

type Parse = (data: unknown, at: Place, below: (path: YamlPath) => Place) => Parsed<AxisValue>;

/** @param input a value that the schema has accepted */
export function parseValue(
  axis: string,
  input: unknown,
  source: YamlSource,
  path: YamlPath,
  problems: Problem[],
): AxisValue | null {
  const kind = kindOfAxis(axis);
  problems.push(...broughtProblems(input, kind, source, path));
  const parse = valueParsers[kind] as Parse;
  const parsed = parse(input, source.placeOf(path), (below) => source.placeOf([...path, ...below]));
  if ("value" in parsed) return parsed.value;
  problems.push(...parsed.problems);
  return null;
}

function unknownMarch(name: string, at: Place): Problem {
  const problem = valueProblem(`unknown march ${JSON.stringify(name)}`, fixMarch(name), at);
  if (isNative(name)) nativeMarches.add(problem);
  return problem;
}

/** True for the problem of a matrix that asks for `native`,. */
export function isNativeMarch(problem: Problem): boolean {
  return nativeMarches.has(problem);
}

const nativeMarches = new WeakSet<Problem>();
