/** One parser per kind of axis value: text of the matrix → checked value, or the problems with it. */

import type { Place, Problem } from "../../errors.ts";
import { formatComputeCapability } from "../../hardware/compute-capability.ts";
import { findMarch, marchNames, unknownWithout } from "../../hardware/cpu-marches.ts";
import {
  cudaToolkits,
  driverFloor,
  findShortToolkit,
  findToolkit,
  type CudaToolkit,
} from "../../hardware/cuda-toolkits.ts";
import { parseDriverVersion } from "../../hardware/driver-version.ts";
import { findCompatPackage } from "../../hardware/forward-compat.ts";
import { findArchitecture } from "../../hardware/gpu-architectures.ts";
import { formatGpuTarget, type GpuTarget, readTargets } from "../../hardware/gpu-target.ts";
import { marchPlatforms, readPlatform } from "../../hardware/march-platforms.ts";
import type { DriverRequirement } from "../../hardware/requirement.ts";
import type { YamlPath } from "../../io/yaml/yaml-places.ts";
import type {
  ComputeInput,
  CudaInput,
  DriverInput,
  FreeInput,
  MarchInput,
  PlatformInput,
} from "./matrix-schema.ts";
import type {
  Case,
  Compiler,
  ComputeValue,
  CudaValue,
  FreeValue,
  MarchValue,
  AxisPatterns,
  PlatformValue,
} from "./matrix.ts";
import { broughtBy } from "./settings.ts";
import { suggest, suggestMarch } from "../../io/suggest.ts";

/** The name of the CPU-only row in PyTorch's wheels, and in those that follow them. */
const cpu = "cpu";

/** The label of a value that a cell does not have: the CPU-only row, and its compute capability. */
export const none = "none";

export type Parsed<Value> = { readonly value: Value } | { readonly problems: readonly Problem[] };

export function parseCudaValue(input: CudaInput, at: Place): Parsed<CudaValue> {
  const entry = typeof input === "string" ? { toolkit: input } : input;
  const problems: Problem[] = [];
  const cpuFloor = entry.cpuFloor === undefined ? null : findMarch(entry.cpuFloor);
  if (entry.cpuFloor !== undefined && cpuFloor === null) problems.push(unknownMarch(entry.cpuFloor, at));
  for (const platform of entry.platforms ?? []) {
    if (marchPlatforms.includes(platform)) continue;
    problems.push(unknownPlatform(platform, at));
  }
  const shared = {
    kind: "cuda" as const,
    label: entry.label ?? (entry.toolkit === cpu ? none : entry.toolkit),
    ...broughtBy(input, "cuda", at),
    platforms: entry.platforms ?? null,
    compiler: parseCompiler(entry.compiler),
    cpuFloor,
    require: entry.require ?? null,
  };
  if (entry.toolkit === none || entry.toolkit === cpu) {
    if (entry.driver !== undefined) {
      problems.push(valueProblem("the CPU-only row has no driver", "remove driver from this entry", at));
    }
    return problems.length > 0 ? { problems } : { value: { ...shared, toolkit: null, driver: null } };
  }
  const toolkit = findToolkit(entry.toolkit) ?? findShortToolkit(entry.toolkit);
  if (toolkit === null) {
    const near = suggest(
      entry.toolkit,
      cudaToolkits.map(({ release }) => release),
    );
    problems.push(
      valueProblem(
        `unknown CUDA toolkit ${JSON.stringify(entry.toolkit)}`,
        near === null ? "imgmatch hardware cuda lists the known ones" : `did you mean "${near}"?`,
        at,
      ),
    );
    return { problems };
  }
  const driver = parseDriver(entry.driver ?? { mode: "host" }, toolkit, at);
  if ("problems" in driver) problems.push(...driver.problems);
  return problems.length > 0 || "problems" in driver
    ? { problems }
    : { value: { ...shared, toolkit, driver: driver.value } };
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
      // NVIDIA's images hold the package off the path.
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

/** @param below the place of what stands further down in the entry */
export function parseComputeValue(
  input: ComputeInput,
  at: Place,
  below: (path: YamlPath) => Place = () => at,
): Parsed<ComputeValue> {
  if (typeof input === "string" || Array.isArray(input)) return parseTargets(input, at);
  const { value, cases, label } = input;
  const brought = broughtBy(input, "compute", at);
  if (value !== undefined && cases === undefined) {
    const parsed = parseTargets(value, at);
    return "problems" in parsed
      ? parsed
      : { value: { ...parsed.value, ...brought, label: label ?? parsed.value.label } };
  }
  if (cases === undefined || value !== undefined || label === undefined) {
    const fix =
      'write { value: ["8.0", "9.0"] }, or { label: all, cases: [{ when: …, value: … }, { value: … }] }';
    return refused("a mapping of compute has either value, or label and cases", fix, at);
  }
  const problems: Problem[] = [];
  const parsed = cases.flatMap(({ when, value: chosen }, index): Case<ComputeValue>[] => {
    const place = below(["cases", index]);
    const targets = parseTargets(chosen, place);
    if ("value" in targets)
      return [{ at: place, when: parseMatch(when), chosen: { ...targets.value, ...brought, label } }];
    problems.push(...targets.problems);
    return [];
  });
  return problems.length > 0
    ? { problems }
    : { value: { kind: "compute", label, ...brought, targets: [], cases: parsed } };
}

/** Axis → patterns. */
export function parseMatch(when: Readonly<Record<string, string | readonly string[]>> = {}): AxisPatterns {
  return Object.fromEntries(
    Object.entries(when).map(([axis, pattern]) => [axis, typeof pattern === "string" ? [pattern] : pattern]),
  );
}

function parseTargets(value: string | readonly string[], at: Place): Parsed<ComputeValue> {
  const texts = typeof value === "string" ? [value] : value;
  const problems: Problem[] = [];
  const targets: GpuTarget[] = [];
  for (const text of texts) {
    const found = readTargets(text);
    const [first] = found ?? [];
    if (found === null || first === undefined) {
      const fix = 'write it as "8.0", "9.0a", "10.0f" or "9.0+ptx", in quotes';
      problems.push(valueProblem(`${JSON.stringify(text)} is not a compute capability`, fix, at));
    } else if (findArchitecture(first.compute) === null) {
      problems.push(
        valueProblem(
          `unknown compute capability ${formatComputeCapability(first.compute)}`,
          "imgmatch hardware gpu lists the known ones",
          at,
        ),
      );
    } else {
      targets.push(...found);
    }
  }
  const names = targets.map(formatGpuTarget);
  for (const twin of new Set(names.filter((name, index) => names.indexOf(name) < index))) {
    const problem = valueProblem(`${twin} stands twice in ${JSON.stringify(texts)}`, "name it once", at);
    problems.push({ ...problem, code: "MATRIX_DUPLICATE" });
  }
  return problems.length > 0
    ? { problems }
    : {
        value: {
          kind: "compute",
          label: texts.join("+"),
          ...{ at, settings: {}, data: {} },
          targets,
          cases: [],
        },
      };
}

export function parsePlatformValue(input: PlatformInput, at: Place): Parsed<PlatformValue> {
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

export function parseFreeValue(input: FreeInput, at: Place): Parsed<FreeValue> {
  const { value, label = value } = typeof input === "string" ? { value: input } : input;
  return { value: { kind: "free", label, ...broughtBy(input, "free", at), value } };
}

/** `gcc 12.2`; its form is checked by the schema. */
export function parseCompiler(text: string | undefined): Compiler | null {
  const [, family, version] = /^(gcc|clang)[ -]([\d.]+)$/.exec(text ?? "") ?? [];
  return version === undefined ? null : { family: family as Compiler["family"], version };
}

/** By kind of axis, for the shape that `valueSchemas` has of it. */
export const valueParsers = {
  cuda: parseCudaValue,
  compute: parseComputeValue,
  platform: parsePlatformValue,
  march: parseMarchValue,
  free: parseFreeValue,
} as const;

function unknownMarch(name: string, at: Place): Problem {
  const near = suggestMarch(name, marchNames());
  return valueProblem(
    `unknown march ${JSON.stringify(name)}`,
    near === null ? "imgmatch hardware cpu lists the known ones" : `did you mean ${near}?`,
    at,
  );
}

function refused(message: string, fix: string, at: Place) {
  return { problems: [valueProblem(message, fix, at)] };
}

export function valueProblem(message: string, fix: string, at: Place): Problem {
  return { code: "MATRIX_VALUE_UNKNOWN", message, fix, at };
}
