/** Which declared CPU features an image's files do without, and which files go beyond what is declared. */

import { CpuidFeature } from "iced-x86";
import {
  armExtension,
  withoutArmExtension,
  withoutX86Feature,
  x86Baseline,
} from "../../hardware/cpu-features.ts";
import { type CpuArchitecture, findMarch, neededFeatures } from "../../hardware/cpu-marches.ts";
import type { CpuRequirement } from "../../hardware/requirement.ts";
import { arm64Rows, undecidedWithSme } from "../cpu/arm64-decoder.ts";
import { linuxFeature } from "../cpu/x86-features.ts";
import type { InspectedFile } from "../file-inspection.ts";
import type { ImageOrigin } from "./origin.ts";

/**
 * Declared features that no file that counts uses, sorted. Nothing is dropped if one of the image's own files could not be opened.
 *
 * Files of its own layers count with every instruction they have. Files of the base, and unchanged files of the distribution's packages,
 * were made to run wherever base or distribution run: of them count the features that a file uses without asking the CPU.
 * The features below a used one are used (`avx` below AVX2), and those of `floor`, the declared need of the base, are never dropped.
 */
export function unusedFeatures(
  origin: ImageOrigin,
  { features }: CpuRequirement,
  floor: readonly string[],
  architecture: CpuArchitecture,
): readonly string[] {
  if (couldHide(origin, architecture)) return [];
  const used = new Set([
    ...floor,
    ...origin.own.flatMap((file) => (file.package === null ? allUsed(file) : needed(file))),
    ...origin.base.flatMap(needed),
  ]);
  const decided = decidedFeatures(architecture);
  return features
    .filter((feature) => decided.has(feature))
    .filter((feature) => !dependents(feature, architecture).some((each) => used.has(each)))
    .sort();
}

/**
 * Whether the image's own programs have no instruction beyond the baseline of their architecture, although their march has vectors that
 * compilers write wherever they compute: AVX, with which every floating-point operation is encoded, or SVE. Of lesser marches that proves
 * nothing: gcc writes hardly any SSE4 by itself. False where there is no such program, and where one could be that nobody has read.
 */
export function ignoresMarch(
  origin: ImageOrigin,
  { features }: CpuRequirement,
  architecture: CpuArchitecture,
): boolean {
  const own = compiledOf(origin).filter((file) => runsOn(file, architecture));
  if (own.length === 0 || couldHide(origin, architecture)) return false;
  const decided = decidedFeatures(architecture);
  const baseline = new Set([...x86Baseline, ...(findMarch("armv8-a")?.features ?? [])]);
  const beyond = [...nameableFeatures(architecture)].filter(
    (each) => decided.has(each) && !baseline.has(each),
  );
  const used = new Set(own.flatMap((file) => [...executed(file), ...needed(file)]));
  const hasVectors = features.includes("avx") || features.includes("sve");
  return hasVectors && !beyond.some((each) => used.has(each));
}

/** Programs and libraries that the image brings, less those of the distribution's packages. */
export function compiledOf({ own }: ImageOrigin): readonly InspectedFile[] {
  return own.filter((file) => file.package === null && (file.cpu !== null || file.gpu !== null));
}

/** gcc writes TZCNT for every CPU, as older ones execute it as `rep bsf`: no flag is needed for it. */
function executed({ cpu }: InspectedFile): readonly string[] {
  return Object.entries(cpu?.features ?? {}).flatMap(([name, { instructions }]) =>
    instructions === 0 && name === "bmi1" ? [] : [name],
  );
}

/** Code that goes beyond the declared features in files that never ask the CPU, a file with its features. */
export interface BeyondDeclared {
  readonly file: InspectedFile;
  /** Linux names, sorted. */
  readonly features: readonly string[];
}

/** Unchanged files of the distribution's packages are passed over: they run wherever the distribution does. */
export function beyondDeclared(
  files: readonly InspectedFile[],
  { features }: CpuRequirement,
  floor: readonly string[],
  architecture: CpuArchitecture,
): readonly BeyondDeclared[] {
  const has = new Set([...features, ...floor, ...x86Baseline]);
  const nameable = nameableFeatures(architecture);
  return files
    .filter((file) => file.package === null && runsOn(file, architecture))
    .map((file) => ({
      file,
      features: unasked(file).filter((feature) => nameable.has(feature) && !has.has(feature)),
    }))
    .filter((found) => found.features.length > 0);
}

/** PREFETCHW does nothing on CPUs without it (AMD APM 3, PREFETCH): no program dies of it. */
const harmless: ReadonlySet<string> = new Set(["3dnowprefetch"]);

/** Features that a march can name: nobody can declare `rdtscp`, so that nobody lies about it. */
function nameableFeatures(architecture: CpuArchitecture): ReadonlySet<string> {
  return new Set(neededFeatures(architecture).filter((feature) => !harmless.has(feature)));
}

function allUsed({ cpu, answer }: InspectedFile): readonly string[] {
  return [...Object.keys(cpu?.features ?? {}), ...Object.keys(answer?.features ?? {})];
}

function needed({ answer }: InspectedFile): readonly string[] {
  return Object.entries(answer?.features ?? {}).flatMap(([feature, use]) =>
    use === "needed" ? [feature] : [],
  );
}

/**
 * Features that a file uses without asking the CPU, and those that the loader demands for it: no estimate, as some of {@link needed} are.
 */
function unasked(file: InspectedFile): readonly string[] {
  const level = file.program?.neededLevel ?? null;
  const enforced = new Set(level === null ? [] : findMarch(level)?.features);
  const asks = (file.answer?.asks.length ?? 0) > 0;
  return needed(file).filter((feature) => !asks || enforced.has(feature));
}

/** Whose code is read. */
const machines = {
  amd64: ["x86_64", "x86"],
  arm64: ["aarch64"],
  ppc64le: [],
  riscv64: [],
} as const satisfies Record<CpuArchitecture, readonly string[]>;

function runsOn({ cpu }: InspectedFile, architecture: CpuArchitecture): boolean {
  return cpu !== null && (machines[architecture] as readonly string[]).includes(cpu.architecture);
}

/** Whether something of the image's own may hold code for this CPU that was not read. */
function couldHide({ own, ownUnopened }: ImageOrigin, architecture: CpuArchitecture): boolean {
  const files = new Map(own.map((file) => [file.path, file]));
  return ownUnopened.some(({ path, reason }) => {
    const file = files.get(path);
    if (file === undefined) return true;
    // A fault of its GPU code is no matter of the CPU, nor is a program for another one.
    if (file.gpu?.damage.includes(reason)) return false;
    const machine = file.program?.machine;
    return machine === undefined || !isForeign(machine, architecture);
  });
}

function isForeign(machine: string, architecture: CpuArchitecture): boolean {
  const runs: readonly string[] = architecture === "arm64" ? ["aarch64", "arm"] : machines[architecture];
  return runs.length > 0 && !runs.includes(machine);
}

/** The feature itself and all that goes when it goes. */
function dependents(feature: string, architecture: CpuArchitecture): readonly string[] {
  if (architecture !== "arm64") return withoutX86Feature(feature);
  const extension = armExtension(feature);
  return extension === null ? [feature] : [feature, ...withoutArmExtension(extension)];
}

/** Linux names. */
export function decidedFeatures(architecture: CpuArchitecture): ReadonlySet<string> {
  switch (architecture) {
    case "amd64":
      return x86Features;
    case "arm64":
      return armFeatures;
    // Their code is not read.
    case "ppc64le":
    case "riscv64":
      return new Set();
  }
}

const x86Features: ReadonlySet<string> = new Set([
  ...Object.keys(CpuidFeature)
    .filter((name) => !/^\d+$/.test(name))
    .map(linuxFeature)
    .filter((name) => name !== null),
  "lahf_lm",
]);

const armFeatures: ReadonlySet<string> = new Set([
  ...arm64Rows.flatMap(([, , features]) => features.split(" ").filter(Boolean)),
  ...undecidedWithSme,
]);
