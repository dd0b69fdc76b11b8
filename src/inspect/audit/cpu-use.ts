/** Compares declared CPU features with an image's files: features that no file uses, and files that use more. */

import { CpuidFeature } from "iced-x86";
import {
  armExtension,
  withoutArmExtension,
  withoutX86Feature,
  x86Baseline,
} from "../../hardware/cpu-features.ts";
import { type CpuArchitecture, findMarch, neededFeatures } from "../../hardware/cpu-marches.ts";
import type { CpuRequirement } from "../../lock/requirement.ts";
import { arm64Rows, undecidedWithSme } from "../cpu/arm64-decoder.ts";
import { linuxFeature } from "../cpu/x86-features.ts";
import { atLeast } from "../cpu/cpu-need.ts";
import type { InspectedFile } from "../file-inspection.ts";
import type { ImageOrigin } from "./origin.ts";

/**
 * Declared features that no file uses, sorted. Empty if one of the image's own files could not be opened.
 *
 * The image's own files count with every instruction. Files of the base, and unchanged files of the distribution's packages, run wherever
 * base or distribution run: these files count with the features they use without asking the CPU. A used feature makes those below it used
 * (`avx` below AVX2), and the features of `floor`, the declared need of the base, always count as used.
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
    ...origin.own.flatMap((file) => (file.package === null ? allUsed(file) : takenForGranted(file))),
    ...origin.base.flatMap(takenForGranted),
  ]);
  const decided = decidedFeatures[architecture];
  return features
    .filter((feature) => decided.has(feature))
    .filter((feature) => !dependents(feature, architecture).some((each) => used.has(each)))
    .sort();
}

/**
 * True if the image's own programs have no instruction beyond the baseline, although the march has AVX or SVE: compilers use both in every
 * computation. Lesser marches prove nothing: gcc writes hardly any SSE4 by itself. False for an image without own programs, and if a program
 * may not have been read.
 */
export function ignoresMarch(
  origin: ImageOrigin,
  { features }: CpuRequirement,
  architecture: CpuArchitecture,
): boolean {
  const programs = compiledOf(origin).filter((file) => runsOn(file, architecture));
  if (programs.length === 0 || couldHide(origin, architecture)) return false;
  const decided = decidedFeatures[architecture];
  const baseline = new Set([...x86Baseline, ...(findMarch("armv8-a")?.features ?? [])]);
  const beyond = [...nameableFeatures(architecture)].filter(
    (each) => decided.has(each) && !baseline.has(each),
  );
  const used = new Set(programs.flatMap((file) => [...executed(file), ...takenForGranted(file)]));
  const hasVectors = features.includes("avx") || features.includes("sve");
  return hasVectors && !beyond.some((each) => used.has(each));
}

/** The image's own programs and libraries, without those of the distribution's packages. */
export function compiledOf({ own }: ImageOrigin): readonly InspectedFile[] {
  return own.filter((file) => file.package === null && (file.cpu !== null || file.gpu !== null));
}

/** gcc writes TZCNT for every CPU, as older ones execute it as `rep bsf`: it does not show a march. */
function executed({ cpu }: InspectedFile): readonly string[] {
  return Object.entries(cpu?.features ?? {}).flatMap(([name, { instructions }]) =>
    instructions === 0 && name === "bmi1" ? [] : [name],
  );
}

/** A file that takes features for granted which are not declared. */
export interface BeyondDeclared {
  readonly file: InspectedFile;
  /** Linux names, sorted. */
  readonly features: readonly string[];
}

/** Without unchanged files of the distribution's packages: they run wherever the distribution does. */
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
      features: takenForGranted(file).filter((feature) => nameable.has(feature) && !has.has(feature)),
    }))
    .filter((found) => found.features.length > 0);
}

/** Features that a march can name: nobody can declare `rdtscp`, so that nobody lies about it. */
function nameableFeatures(architecture: CpuArchitecture): ReadonlySet<string> {
  return new Set(neededFeatures(architecture));
}

function allUsed({ cpu, answer }: InspectedFile): readonly string[] {
  return [...Object.keys(cpu?.features ?? {}), ...Object.keys(answer?.features ?? {})];
}

/** Features that a file takes for granted: proved, or by an estimate. */
function takenForGranted({ answer }: InspectedFile): readonly string[] {
  const uses = answer?.features ?? {};
  return Object.keys(uses).filter((feature) => atLeast(uses[feature], "undecided"));
}

/** Machines whose code is read. */
const machines: Readonly<Record<CpuArchitecture, readonly string[]>> = {
  amd64: ["x86_64", "x86"],
  arm64: ["aarch64"],
  ppc64le: [],
  riscv64: [],
};

function runsOn({ cpu }: InspectedFile, architecture: CpuArchitecture): boolean {
  return cpu !== null && machines[architecture].includes(cpu.architecture);
}

/** True if unread parts of the image's own files may hold code for this CPU. */
function couldHide({ own, ownUnopened }: ImageOrigin, architecture: CpuArchitecture): boolean {
  const files = new Map(own.map((file) => [file.path, file]));
  return ownUnopened.some(({ path, reason }) => {
    const file = files.get(path);
    if (file === undefined) return true;
    // Damaged GPU code, and programs for another CPU, do not matter.
    if (file.gpu?.damage.includes(reason)) return false;
    const machine = file.program?.machine;
    return machine === undefined || !isForeign(machine, architecture);
  });
}

function isForeign(machine: string, architecture: CpuArchitecture): boolean {
  const runs = architecture === "arm64" ? ["aarch64", "arm"] : machines[architecture];
  return runs.length > 0 && !runs.includes(machine);
}

/** The feature, and all features that need it. */
function dependents(feature: string, architecture: CpuArchitecture): readonly string[] {
  if (architecture !== "arm64") return withoutX86Feature(feature);
  const extension = armExtension(feature);
  return extension === null ? [feature] : [feature, ...withoutArmExtension(extension)];
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

/** The features that an inspection can find, Linux names. Other code is not read. */
export const decidedFeatures: Readonly<Record<CpuArchitecture, ReadonlySet<string>>> = {
  amd64: x86Features,
  arm64: armFeatures,
  ppc64le: new Set(),
  riscv64: new Set(),
};
