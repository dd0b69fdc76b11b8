/** Parses the values of axes: one parser for each kind of value. */

import type { Place, Problem } from "../../errors.ts";
import { findMarch, suggestMarch, unknownWithout } from "../../hardware/cpu-marches.ts";
import {
  cudaToolkits,
  driverFloor,
  findShortToolkit,
  findToolkit,
  shortToolkit,
  type CudaToolkit,
  unlistedToolkit,
} from "../../hardware/cuda-toolkits.ts";
import { parseDriverVersion } from "../../hardware/driver-version.ts";
import { findCompatPackage } from "../../hardware/forward-compat.ts";
import { marchPlatforms, readPlatform } from "../../hardware/march-platforms.ts";
import type { DriverRequirement, GpuVendor } from "../../lock/requirement.ts";
import { isRocmRelease, shortRocm } from "../../hardware/rocm-releases.ts";
import { isSlipOf, suggest } from "../../io/suggest.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type { YamlSource } from "../../io/yaml/yaml-source.ts";
import { parseComputeValue } from "./compute-values.ts";
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
import {
  type AccelInput,
  type CudaInput,
  type DriverInput,
  type FreeInput,
  kindOfAxis,
  type MarchInput,
  type PlatformInput,
} from "./value-schemas.ts";
import { broughtBy, broughtProblems } from "./settings.ts";

/** The CPU-only row in the names of PyTorch's wheels. */
const cpu = "cpu";

/** The label of the CPU-only row, and of its compute capability. */
export const none = "none";

export function parseCudaValue(input: CudaInput, at: Place): Parsed<AccelValue> {
  const entry = typeof input === "string" ? { toolkit: input } : input;
  const { toolkit } = entry;
  const isCpuRow = toolkit === none || toolkit === cpu;
  const chosen = isCpuRow ? { accel: none } : { cuda: toolkit };
  return accelValue(chosen, isCpuRow ? none : toolkit, entry, broughtBy(input, "cuda", at), at);
}

/** `{ cuda: "12.8.1" }`, `{ rocm: "7.2" }`; a text is short for `{ accel: none }` or `{ accel: vulkan }`. */
export function parseAccelValue(input: AccelInput, at: Place): Parsed<AccelValue> {
  const entry: Exclude<AccelInput, string> = typeof input === "string" ? { accel: input } : input;
  const { cuda, rocm, accel } = entry;
  const chosen = Object.entries({ cuda, rocm, accel }).filter(([, text]) => text !== undefined);
  const [one, other] = chosen;
  if (one === undefined || other !== undefined)
    return refused(
      `a value of accel has exactly one of cuda, rocm and accel, this one has ${chosen.map(([key]) => key).join(" and ") || "none"}`,
      'write { cuda: "12.8.1" }, { rocm: "7.2" }, or { accel: none }',
      at,
    );
  const word = accel === cpu ? none : accel;
  const fix = word === undefined ? null : whyNoAccelerator(word);
  if (fix !== null) return refused(`${JSON.stringify(accel)} is no accelerator that a value can be`, fix, at);
  const label = word ?? `${one[0]}-${one[1]}`;
  return accelValue({ cuda, rocm, accel: word }, label, entry, broughtBy(input, "accel", at), at);
}

/** Accelerators that imgmatch does not judge, from real build definitions. Other words are accepted too, if they are no slip of these. */
const unjudged = "vulkan sycl openvino xpu musa cann hpu tpu neuron metal opencl maca l4t".split(" ");

/** The fix for a word that is no accelerator; null for one that may be. */
function whyNoAccelerator(word: string): string | null {
  if (word === none || unjudged.includes(word)) return null;
  const [, vendor, version] = /^(cuda|rocm)-?(\d[\d.]*)?$/.exec(word) ?? [];
  if (vendor !== undefined)
    return `write { ${vendor}: "${version ?? (vendor === "cuda" ? "12.8.1" : "7.2")}" }`;
  if (/^(cu)?\d/.test(word))
    return `write { ${isRocmRelease(word) && findToolkit(word) === null ? "rocm" : "cuda"}: "${word}" }`;
  if (/^(nvidia|amd|hip|gpu|gfx.*)$/.test(word)) return 'write { cuda: "12.8.1" }, or { rocm: "7.2" }';
  const near = [none, "cuda", "rocm", ...unjudged].find((known) => isSlipOf(word, known));
  if (near !== undefined) return `did you mean ${near}?`;
  return /^[a-z][a-z0-9_.-]*$/.test(word) ? null : "name it in lower-case letters and digits, such as vulkan";
}

type Accelerator = Partial<Record<"cuda" | "rocm" | "accel", string | undefined>>;
type AccelEntry = Pick<
  Exclude<CudaInput, string>,
  "label" | "driver" | "platforms" | "compiler" | "cpuFloor" | "require"
>;

/** @param accelerator one of its keys; `accel` is none, or an accelerator that imgmatch does not judge */
function accelValue(
  { cuda, rocm, accel }: Accelerator,
  label: string,
  entry: AccelEntry,
  brought: ReturnType<typeof broughtBy>,
  at: Place,
): Parsed<AccelValue> {
  const problems: Problem[] = [];
  const report = (message: string, fix: string) => problems.push(valueProblem(message, fix, at));
  const cpuFloor = entry.cpuFloor === undefined ? null : findMarch(entry.cpuFloor);
  if (entry.cpuFloor !== undefined && cpuFloor === null) problems.push(unknownMarch(entry.cpuFloor, at));
  for (const platform of entry.platforms ?? []) {
    if (marchPlatforms.includes(platform)) continue;
    problems.push(unknownPlatform(platform, at));
  }
  const shared = {
    kind: "accel" as const,
    label: entry.label ?? label,
    ...brought,
    rocm: rocm ?? null,
    other: accel === none ? null : (accel ?? null),
    platforms: entry.platforms ?? null,
    compiler: parseCompiler(entry.compiler),
    cpuFloor,
    require: entry.require ?? null,
  };
  if (cuda === undefined) {
    for (const key of ["driver", "require"] as const) {
      if (entry[key] === undefined || (key === "require" && accel === none)) continue;
      const whose = accel === none ? "the CPU-only row" : label;
      const what = key === "driver" ? "no driver" : "no CUDA to require";
      report(`${whose} has ${what}`, `remove ${key} from this entry`);
    }
    if (rocm !== undefined && !isRocmRelease(rocm))
      report(`${JSON.stringify(rocm)} is no ROCm release`, 'write it as "7.2" or "7.2.1"');
    return problems.length > 0 ? { problems } : { value: { ...shared, toolkit: null, driver: null } };
  }
  const isFloorGiven = entry.driver?.mode === "host" && entry.driver.minimum !== undefined;
  const toolkit =
    findToolkit(cuda) ?? findShortToolkit(cuda) ?? (isFloorGiven ? unlistedToolkit(cuda) : null);
  if (toolkit === null && [none, cpu].includes(cuda)) {
    report(
      `${JSON.stringify(cuda)} is no CUDA toolkit`,
      "write none, or { accel: none }, for the CPU-only row",
    );
    return { problems };
  }
  if (toolkit === null) {
    const releases = cudaToolkits.map(({ release }) => release);
    const near = suggest(cuda, releases);
    const fix = near === null ? "imgmatch hardware cuda lists the known ones" : `did you mean "${near}"?`;
    report(`unknown CUDA toolkit ${JSON.stringify(cuda)}`, fix);
    return { problems };
  }
  const driver = parseDriver(entry.driver ?? { mode: "host" }, toolkit, at);
  if ("problems" in driver) return { problems: [...problems, ...driver.problems] };
  return problems.length > 0 ? { problems } : { value: { ...shared, toolkit, driver: driver.value } };
}

function parseDriver(input: DriverInput, toolkit: CudaToolkit, at: Place): Parsed<DriverRequirement> {
  switch (input.mode) {
    case "bundled":
      return parseDriverVersion(input.version) === null
        ? refused(`${JSON.stringify(input.version)} is not a driver version`, 'write it as "396.44"', at)
        : { value: { mode: "bundled", version: input.version } };
    case "compat": {
      const cuda = input.cuda ?? toolkit.minor;
      const known = findCompatPackage(cuda);
      const version = input.package ?? known?.libcuda ?? null;
      const branches = input.branches ?? known?.branches ?? null;
      if (version === null || branches === null) {
        return refused(
          `no cuda-compat package is known for CUDA ${cuda}`,
          "name its driver version as package and the branches that it supports",
          at,
        );
      }
      // NVIDIA's images have the package outside the loader's path.
      const onPath = input.onPath ?? "never";
      return { value: { mode: "compat", package: version, cuda, branches, onPath } };
    }
    case "host": {
      const minimum = input.minimum ?? driverFloor(toolkit)?.minimum ?? null;
      if (minimum !== null && parseDriverVersion(minimum) !== null)
        return { value: { mode: "host", minimum } };
      return minimum === null
        ? refused(
            `the minimum driver of CUDA ${toolkit.release} is not known`,
            'name it: driver: { mode: host, minimum: "…" }',
            at,
          )
        : refused(`${JSON.stringify(minimum)} is not a driver version`, 'write it as "525.60.13"', at);
    }
  }
}

/** The vendor of the GPU code in the cells of a value; null for the CPU-only row and an accelerator that imgmatch does not judge. */
export function vendorOf({ toolkit, rocm }: Pick<AccelValue, "toolkit" | "rocm">): GpuVendor | null {
  return toolkit !== null ? "nvidia" : rocm !== null ? "amd" : null;
}

/** The names of a value beside its label: `cu128` of a toolkit, `sapphirerapids` of that march without a feature. */
export function otherNames(value: AxisValue): readonly string[] {
  switch (value.kind) {
    case "accel": {
      const { toolkit, rocm, other } = value;
      if (toolkit !== null) return [toolkit.release, shortToolkit(toolkit)];
      if (rocm !== null) return [rocm, shortRocm(rocm)];
      return other === null ? [none, cpu] : [other];
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

function parsePlatformValue(input: PlatformInput, at: Place): Parsed<PlatformValue> {
  const text = typeof input === "string" ? input : input.platform;
  const label = readPlatform(text);
  if (label !== null) return { value: { kind: "platform", label, ...broughtBy(input, "platform", at) } };
  return { problems: [unknownPlatform(text, at)] };
}

function unknownPlatform(text: string, at: Place): Problem {
  const fix = `the platforms are ${marchPlatforms.join(", ")}`;
  return valueProblem(`unknown platform ${JSON.stringify(text)}`, fix, at);
}

export function parseMarchValue(input: MarchInput, at: Place): Parsed<MarchValue> {
  const entry = typeof input === "string" ? { march: input } : input;
  const without = entry.without ?? [];
  const march = findMarch(entry.march);
  if (march === null) return { problems: [unknownMarch(entry.march, at)] };
  const unknown = unknownWithout(march, without);
  if (unknown.length > 0) {
    const features = `features of ${march.name}: ${march.features.join(" ")}`;
    return refused(`${march.name} has no feature ${unknown.join(", ")}`, features, at);
  }
  const label = entry.label ?? [march.name, ...without.map((feature) => `no-${feature}`)].join("-");
  return { value: { kind: "march", label, ...broughtBy(entry, "march", at), march, without } };
}

function parseFreeValue(input: FreeInput, at: Place): Parsed<FreeValue> {
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
  const near = suggestMarch(name);
  const fix = near === null ? "imgmatch hardware cpu lists the known ones" : `did you mean ${near}?`;
  return valueProblem(`unknown march ${JSON.stringify(name)}`, fix, at);
}
