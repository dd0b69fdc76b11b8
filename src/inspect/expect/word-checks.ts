/** The checks behind the words of `--expect`. Unknown never meets an expectation. */

import { neverNeededFeatures, x86Baseline } from "../../hardware/cpu-features.ts";
import { levelNeeded } from "../../hardware/cpu-levels.ts";
import { findMarch, type March } from "../../hardware/cpu-marches.ts";
import { compareVersions, parseVersion, type VersionParts } from "../../hardware/driver-version.ts";
import { sum } from "../../io/collections.ts";
import { sizeText } from "../../io/size-text.ts";
import { count } from "../../io/table.ts";
import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import { atLeast, type FeatureNeed } from "../cpu/cpu-need.ts";
import { codesIn, hidingGpuCode, type InspectedFile } from "../file-inspection.ts";
import type { ImageInspection } from "../inspection.ts";
import { vendorCode } from "../vendor-code.ts";

export type Operator = "" | "<=" | ">=" | "==";

export interface Artifact {
  readonly inspection: ImageInspection;
  /** Each library with GPU code must have the targets. */
  readonly perLibrary: boolean;
  /** The values of all words of this kind. */
  readonly values: readonly string[];
}

/** One reason why a word is not met. */
export interface Finding {
  readonly found: string;
  /** The file that shows it; null for all files together. */
  readonly file: string | null;
  readonly isUnknown?: true;
}

export type Check = (artifact: Artifact) => readonly Finding[];

export function unknown(file: string | null, why: string): Finding {
  return { file, found: `unknown: ${why}`, isUnknown: true };
}

/** The first file that was not read and may hold what is looked for; `cpu` matters to every such file. */
export function unread(
  { unopened, files }: ImageInspection,
  matter: GpuVendor | "gpu" | "cpu",
): readonly Finding[] {
  const [first, ...more] = matter === "cpu" ? unopened : hidingGpuCode(files, unopened, matter);
  if (first === undefined) return [];
  const others = more.length === 0 ? "" : `, and ${more.length} more could not be read`;
  return [unknown(first.path, `${first.reason}${others}`)];
}

/** Something is missing, unless a file that was not read may hold it. */
export function missing(
  inspection: ImageInspection,
  vendor: GpuVendor,
  files: readonly InspectedFile[],
): readonly Finding[] {
  const hidden = unread(inspection, vendor);
  return hidden.length > 0 ? hidden : [{ file: null, found: gpuText(files) }];
}

/** The GPU code of these files in words. */
function gpuText(files: readonly InspectedFile[]): string {
  const sycl = [...new Set(files.flatMap((file) => Object.keys(file.sycl)))].sort();
  if (sycl.length === 0 && files.every((file) => codesIn(file).length === 0)) return "no GPU code";
  const texts = [
    ...gpuVendors.flatMap((vendor) => [
      ...vendorCode[vendor].targets(files),
      ...vendorCode[vendor].others(files),
    ]),
    ...sycl.map((kind) => `sycl:${kind}`),
  ];
  return texts.join(" ") || "no code that a driver loads";
}

export function targetIsThere(vendor: GpuVendor, isMeant: (target: string) => boolean): Check {
  return ({ inspection, perLibrary }) => {
    const libraries = vendorCode[vendor].libraries(inspection.files);
    if (libraries.length === 0) return missing(inspection, vendor, inspection.files);
    const without = libraries.filter(({ targets }) => !targets.some(isMeant));
    if (perLibrary) return without.map(({ path, files }) => ({ file: path, found: gpuText(files) }));
    if (without.length < libraries.length) return [];
    return missing(
      inspection,
      vendor,
      libraries.flatMap(({ files }) => files),
    );
  };
}

/** What no file may have, packages' own tests may not have either. */
function everyFile({ files, tests }: ImageInspection): readonly InspectedFile[] {
  return [...files, ...tests];
}

/** Finds every file with such a target, and what may hide one. */
export function targetIsNowhere(vendor: GpuVendor, isMeant: (target: string) => boolean): Check {
  const { libraries, targets, unknownKinds, unknownText } = vendorCode[vendor];
  return ({ inspection }) => {
    const holders = libraries(everyFile(inspection)).flatMap(({ files }) => files);
    const found = holders.flatMap((file): Finding[] => {
      const matching = targets([file]).filter(isMeant);
      if (matching.length > 0) return [{ file: file.path, found: matching.join(" ") }];
      const kinds = unknownKinds(file);
      if (kinds.length === 0) return [];
      return [unknown(file.path, `${unknownText} (${kinds.join(", ")}): any target may be in it`)];
    });
    return [...found, ...unread(inspection, vendor)];
  };
}

/** A gate that nothing is claimed behind would hold for everything. */
export const claimsAreTrue: Check = ({ inspection: { claims = [] } }) =>
  claims.length === 0
    ? [unknown(null, "it claims nothing that is known")]
    : claims.flatMap(({ claim, by, verdict, found, file }): readonly Finding[] => {
        if (verdict === "true") return [];
        const text = `${claim} (${by}) is ${verdict}: ${found}`;
        return [{ found: text, file, ...(verdict === "not provable" && { isUnknown: true }) }];
      });

export const noGpuCode: Check = ({ inspection }) => {
  const found = everyFile(inspection)
    .filter(holdsGpuCode)
    .map((file) => ({ file: file.path, found: gpuText([file]) }));
  return [...found, ...unread(inspection, "gpu")];
};

/** Bytes of GPU code; 0 for code that was not read. */
function bytesOf(file: InspectedFile): number {
  return sum([...codesIn(file).map(({ bytes }) => bytes), ...Object.values(file.sycl)]);
}

function holdsGpuCode(file: InspectedFile): boolean {
  return codesIn(file).some(({ modules }) => modules > 0) || Object.keys(file.sycl).length > 0;
}

export function gpuCodeAtMost(most: number): Check {
  return ({ inspection }) => {
    const holders = everyFile(inspection).filter(holdsGpuCode);
    const bytes = sum(holders.map(bytesOf));
    if (bytes <= most) return unread(inspection, "gpu");
    const [largest] = [...holders].sort((a, b) => bytesOf(b) - bytesOf(a));
    return [{ file: largest?.path ?? null, found: `${sizeText(bytes)} in ${count(holders.length, "file")}` }];
  };
}

/** Compares as many parts as `wanted` has: 550.54.14 is at most 550, and 12.8 is 12. */
export function compareAsFar(version: string, wanted: VersionParts): number {
  return compareVersions((parseVersion(version) ?? []).slice(0, wanted.length), wanted);
}

/** The marches' names of architectures. Every x86-64 CPU runs 32-bit code. */
const architectures = { x86_64: "amd64", x86: "amd64", aarch64: "arm64" } as const;

/** `need` is the least that counts: nothing tells whether code needs a feature, or code may use the feature. */
export function cpuAtMost(need: FeatureNeed, march: March): Check {
  const allowed = new Set([...march.features, ...x86Baseline, ...neverNeededFeatures]);
  return ({ inspection, values }) => {
    const programs = inspection.files.flatMap((file) => (file.cpu === null ? [] : [{ file, cpu: file.cpu }]));
    if (programs.length === 0) return [unknown(null, "no program was found whose code is read")];
    const named = new Set(values.map((value) => findMarch(value)?.architecture));
    const beyond = programs.flatMap(({ file, cpu }): readonly Finding[] => {
      const architecture = architectures[cpu.architecture];
      if (architecture !== march.architecture)
        // Code that no march is about is reported once, by the first march.
        return named.has(architecture) || values[0] !== march.name
          ? []
          : [{ file: file.path, found: `code for ${cpu.architecture}` }];
      const uses = file.answer?.features ?? {};
      const features = Object.keys(uses).filter((name) => atLeast(uses[name], need) && !allowed.has(name));
      if (features.length === 0) return [];
      const level = levelNeeded(architecture, features);
      const text = `${features.join(" ")}${level === null ? "" : ` (${level})`}`;
      const isFound = (wanted: FeatureNeed) => features.some((name) => uses[name] === wanted);
      const how = isFound("compiledFor") ? "compiled for " : "not proved: may need ";
      const isProved = need === "mayBeUsed" || isFound("needed");
      return [{ file: file.path, found: isProved ? text : how + text }];
    });
    return [...beyond, ...unread(inspection, "cpu")];
  };
}

export function libcIs(wanted: "glibc" | "musl", most: VersionParts | null): Check {
  return ({ inspection }) => {
    const programs = inspection.files.flatMap(({ path, program }) =>
      program === null ? [] : [{ path, libc: program.libc }],
    );
    if (programs.length === 0) return [unknown(null, "no program was found")];
    const wrong = programs.flatMap(({ path, libc }): Finding[] => {
      if (libc === null) return [];
      const found = `${libc.name}${libc.version === null ? "" : ` ${libc.version}`}`;
      const isNewer = most !== null && libc.version !== null && compareAsFar(libc.version, most) > 0;
      return libc.name !== wanted || isNewer ? [{ file: path, found }] : [];
    });
    return [...wrong, ...unread(inspection, "nvidia")];
  };
}
