/** Whether an artifact is what somebody promised: each word of `--expect` against what its files show. Unknown is never met. */

import { assertNever, type Place } from "../../errors.ts";
import { compareComputeCapability, type ComputeCapability } from "../../hardware/compute-capability.ts";
import { neverNeededFeatures, x86Baseline } from "../../hardware/cpu-features.ts";
import { findMarch, levelNeeded, type March } from "../../hardware/cpu-marches.ts";
import { compareVersions, parseVersion, type VersionParts } from "../../hardware/driver-version.ts";
import { parseGpuTarget } from "../../hardware/gpu-target.ts";
import { concernsCpuAlone } from "../file-inspection.ts";
import { amdLibraries, amdOf } from "../amd/amd-libraries.ts";
import { gpuOf, type ImageInspection, type InspectedFile } from "../inspection.ts";
import { count } from "../../io/table.ts";
import { type Expectation, type Expectations, isAmdTarget, type Operator } from "./parse-expectations.ts";

export interface FailedExpectation {
  readonly kind: Expectation["kind"];
  /** The word, as it was written. */
  readonly expected: string;
  readonly found: string;
  /** Which file shows it; null where it is all of them together. */
  readonly file: string | null;
  /** Whether it could not be told, and not that it is otherwise. */
  readonly isUnknown: boolean;
  readonly at: Place;
}

/** A fault under one word. */
interface Finding {
  readonly found: string;
  readonly file: string | null;
  readonly isUnknown?: true;
}

/** All of them, in the order of the words. */
export function checkExpectations(
  inspection: ImageInspection,
  { words, perLibrary }: Expectations,
): readonly FailedExpectation[] {
  const marches = words.flatMap((each) => (each.kind === "march" || each.kind === "may-use" ? [each] : []));
  return words.flatMap((each) => {
    const others = marches.filter(({ kind }) => kind === each.kind).map(({ march }) => march);
    return findingsOf(inspection, each, perLibrary, others).map(({ found, file, isUnknown = false }) => ({
      kind: each.kind,
      expected: each.word,
      found,
      file,
      isUnknown,
      at: each.at,
    }));
  });
}

/** `marches` are those that words of this kind name: each is about the code of its architecture. */
function findingsOf(
  inspection: ImageInspection,
  each: Expectation,
  perLibrary: boolean,
  marches: readonly string[],
): readonly Finding[] {
  switch (each.kind) {
    case "target":
      if (isAmdTarget(each.target)) return amdTarget(inspection, perLibrary, each);
      return each.isThere
        ? targetIsThere(inspection, perLibrary, each.target)
        : isNowhere(inspection, (name) => name === each.target);
    case "ptx":
      return each.isThere ? ptxIsThere(inspection, perLibrary, each.from) : isNowhere(inspection, isPtx);
    case "no-gpu-code":
      return noGpuCode(inspection);
    case "gpu-code":
      return gpuCodeAtMost(inspection, each.most);
    case "cuda":
      return cudaIs(inspection, each.operator, each.version);
    case "driver":
      return driverAtMost(inspection, each.most);
    case "march":
    case "may-use":
      return cpuAtMost(inspection, each.kind, each.march, marches);
    case "glibc":
      return libcIs(inspection, "glibc", each.most);
    case "musl":
      return libcIs(inspection, "musl", null);
    default:
      return assertNever(each);
  }
}

/** The names of NVIDIA's targets of these files together. */
function targetsOf(files: readonly InspectedFile[]): readonly string[] {
  return gpuOf(files)?.targets.map(({ target }) => target) ?? [];
}

function gpuText(files: readonly InspectedFile[]): string {
  const [gpu, amd] = [gpuOf(files), amdOf(files)];
  const sycl = [...new Set(files.flatMap((file) => Object.keys(file.sycl)))].sort();
  if (gpu === null && amd === null && sycl.length === 0) return "no GPU code";
  const texts = [
    ...targetsOf(files),
    ...(gpu?.lto ?? []).map((target) => `lto:${target}`),
    ...(gpu?.unknownKinds ?? []).map((kind) => `unknown kind ${kind}`),
    ...amdTargets(files),
    ...(amd?.unknown ?? []),
    ...sycl.map((kind) => `sycl:${kind}`),
  ];
  return texts.join(" ") || "no code that a driver loads";
}

function amdTargets(files: readonly InspectedFile[]): readonly string[] {
  return [...new Set((amdOf(files)?.targets ?? []).map(({ target }) => target))];
}

function withGpuCode({ files }: ImageInspection): readonly InspectedFile[] {
  return files.filter(({ gpu }) => gpu !== null && gpu.modules > 0);
}

/** One finding for the artifact, or one for each library, whose targets do not have it. */
function inEach(
  inspection: ImageInspection,
  perLibrary: boolean,
  has: (targets: readonly string[]) => boolean,
): readonly Finding[] {
  const holders = withGpuCode(inspection);
  if (holders.length === 0) return orShut(inspection, { file: null, found: gpuText(inspection.files) });
  if (!perLibrary) return has(targetsOf(holders)) ? [] : [{ file: null, found: gpuText(holders) }];
  return holders
    .filter((file) => !has(targetsOf([file])))
    .map((file) => ({ file: file.path, found: gpuText([file]) }));
}

/** The finding, unless a file was not opened: something that no opened file has may be in that one. */
function orShut(inspection: ImageInspection, finding: Finding, matter: Matter = "cuda"): readonly Finding[] {
  const hidden = shut(inspection, matter);
  return hidden.length > 0 ? hidden : [finding];
}

function targetIsThere(inspection: ImageInspection, perLibrary: boolean, target: string) {
  return inEach(inspection, perLibrary, (targets) => targets.includes(target));
}

/** There: for exactly this target. Not there: for no state of xnack and sramecc either, where the word names none. */
function amdTarget(
  inspection: ImageInspection,
  perLibrary: boolean,
  { target, isThere }: Extract<Expectation, { kind: "target" }>,
): readonly Finding[] {
  const libraries = amdLibraries(inspection.files);
  const [first] = libraries;
  if (!isThere) {
    const isMeant = (name: string) => name === target || name.startsWith(`${target}:`);
    const found = libraries
      .flatMap(({ files }) => files)
      .flatMap((file): Finding[] => {
        const targets = amdTargets([file]).filter(isMeant);
        if (targets.length > 0) return [{ file: file.path, found: targets.join(" ") }];
        const kinds = Object.keys(file.amd?.unknown ?? {});
        const hidden = `GPU code that is not known (${kinds.join(", ")}): any target may be in it`;
        return kinds.length === 0 ? [] : [unknown(file.path, hidden)];
      });
    return [...found, ...shut(inspection, "amd")];
  }
  if (first === undefined) return orShut(inspection, { file: null, found: gpuText(inspection.files) }, "amd");
  if (perLibrary)
    return libraries
      .filter(({ targets }) => !targets.includes(target))
      .map(({ path, files }) => ({ file: path, found: gpuText(files) }));
  if (libraries.some(({ targets }) => targets.includes(target))) return [];
  return orShut(inspection, { file: null, found: gpuText(inspection.files) }, "amd");
}

/** PTX of one device or family alone (`compute_90a`) serves no newer one. */
function ptxIsThere(inspection: ImageInspection, perLibrary: boolean, from: ComputeCapability | null) {
  return inEach(inspection, perLibrary, (targets) =>
    targets.some((name) => {
      const target = parseGpuTarget(name);
      if (target === null || target.kind !== "ptx") return false;
      return from === null || (target.suffix === "" && compareComputeCapability(target.compute, from) >= 0);
    }),
  );
}

function isPtx(target: string): boolean {
  return target.startsWith("compute_");
}

/** Every file with such a target, and what may hide one. */
function isNowhere(inspection: ImageInspection, isMeant: (target: string) => boolean): readonly Finding[] {
  const found = withGpuCode(inspection).flatMap((file): Finding[] => {
    const targets = targetsOf([file]).filter(isMeant);
    if (targets.length > 0) return [{ file: file.path, found: targets.join(" ") }];
    const kinds = file.gpu?.unknown.map(({ kind }) => kind) ?? [];
    const hidden = `GPU code of unknown kind (${kinds.join(", ")}): any target may be in it`;
    return kinds.length === 0 ? [] : [unknown(file.path, hidden)];
  });
  return [...found, ...shut(inspection)];
}

function noGpuCode(inspection: ImageInspection): readonly Finding[] {
  const found = inspection.files
    .filter(holdsGpuCode)
    .map((file) => ({ file: file.path, found: gpuText([file]) }));
  return [...found, ...shut(inspection, "gpu")];
}

function holdsGpuCode(file: InspectedFile): boolean {
  return (file.gpu?.modules ?? 0) + (file.amd?.modules ?? 0) > 0 || Object.keys(file.sycl).length > 0;
}

function unknown(file: string | null, why: string): Finding {
  return { file, found: `unknown: ${why}`, isUnknown: true };
}

/** The code that a word is about: what hides none of it does not matter. */
type Matter = "cuda" | "amd" | "gpu" | "all";

/** The first file that was not opened, where there is one: anything may be in it. */
function shut({ unopened, files }: ImageInspection, matter: Matter = "cuda"): readonly Finding[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const hides = (path: string, reason: string) => {
    if (matter === "all") return true;
    const file = byPath.get(path);
    const other = matter === "cuda" ? file?.amd : matter === "amd" ? file?.gpu : null;
    return !concernsCpuAlone(reason) && other?.damage.includes(reason) !== true;
  };
  const [first, ...more] = unopened.filter(({ path, reason }) => hides(path, reason));
  if (first === undefined) return [];
  const others = more.length === 0 ? "" : `, and ${more.length} more could not be read`;
  return [unknown(first.path, `${first.reason}${others}`)];
}

function gpuCodeAtMost(inspection: ImageInspection, most: number): readonly Finding[] {
  const bytesOf = ({ gpu, amd, sycl }: InspectedFile) =>
    [gpu?.bytes ?? 0, amd?.bytes ?? 0, ...Object.values(sycl)].reduce((sum, each) => sum + each, 0);
  const holders = inspection.files.filter(holdsGpuCode);
  const bytes = holders.reduce((sum, file) => sum + bytesOf(file), 0);
  const [largest] = [...holders].sort((a, b) => bytesOf(b) - bytesOf(a));
  if (bytes > most)
    return [{ file: largest?.path ?? null, found: `${sizeText(bytes)} in ${count(holders.length, "file")}` }];
  return shut(inspection, "gpu");
}

function sizeText(bytes: number): string {
  return bytes < 1e5 ? `${bytes} B` : `${(bytes / 1e6).toFixed(1)} MB`;
}

function cudaIs(inspection: ImageInspection, operator: Operator, wanted: VersionParts): readonly Finding[] {
  const { cuda } = inspection.requires;
  if (cuda === null) return orShut(inspection, { file: null, found: gpuText(inspection.files) });
  const { toolkit } = cuda;
  if (toolkit === null)
    return [unknown(null, whyOpen(inspection) || "no file says which toolkit made its code")];
  const order = compareAsFar(toolkit, wanted);
  const isMet = operator === "<=" ? order <= 0 : operator === ">=" ? order >= 0 : order === 0;
  return isMet ? shut(inspection) : [{ file: null, found: `code of CUDA ${toolkit}` }];
}

/** Why it is not one toolkit and one driver; empty where nobody knows. */
function whyOpen({ requires: { undecided, choices } }: ImageInspection): string {
  const several = choices.cuda.map(({ by, toolkit }) => `${by} (CUDA ${toolkit})`).join(" or ");
  return undecided.join("; ") || (several && `it takes one when it runs: ${several}`);
}

/** With as many parts as were asked for: 550.54.14 is at most 550, and 12.8 is 12. */
function compareAsFar(version: string, wanted: VersionParts): number {
  return compareVersions((parseVersion(version) ?? []).slice(0, wanted.length), wanted);
}

function driverAtMost(inspection: ImageInspection, most: VersionParts): readonly Finding[] {
  const { cuda } = inspection.requires;
  if (cuda === null) return shut(inspection);
  const { driver, raisedBy } = cuda;
  if (driver?.mode === "bundled")
    return [
      { file: inspection.driver.bundled[0]?.path ?? null, found: `exactly ${driver.version} (bundled)` },
    ];
  const minimum = driver?.minimum ?? null;
  if (minimum === null || (inspection.gpu?.unknownKinds ?? []).length > 0)
    return [unknown(null, whyOpen(inspection) || "the oldest driver for its code")];
  if (compareAsFar(minimum, most) <= 0) return shut(inspection);
  return [{ file: null, found: `needs driver ${minimum}${raisedBy === null ? "" : ` (${raisedBy})`}` }];
}

/** In the words of marches. Every x86-64 CPU runs 32-bit code. */
const architectures = { x86_64: "amd64", x86: "amd64", aarch64: "arm64" } as const;

function cpuAtMost(
  inspection: ImageInspection,
  kind: "march" | "may-use",
  name: string,
  marches: readonly string[],
): readonly Finding[] {
  const march = findMarch(name);
  const read = inspection.files.filter(({ cpu }) => cpu !== null);
  if (march === null || read.length === 0) return [unknown(null, "no program was found whose code is read")];
  const allowed = new Set([...march.features, ...x86Baseline]);
  const beyond = read.flatMap((file): readonly Finding[] => {
    const architecture = architectures[file.cpu?.architecture ?? "x86_64"];
    if (architecture !== march.architecture) return otherMachine(file, architecture, name, marches);
    const features = Object.entries(file.answer?.features ?? {})
      .filter(([feature, need]) => (kind === "may-use" || need === "needed") && !allowed.has(feature))
      .map(([feature]) => feature)
      .filter((feature) => !neverNeededFeatures.has(feature));
    return features.length === 0 ? [] : [{ file: file.path, found: cpuText(march, features) }];
  });
  return [...beyond, ...shut(inspection, "all")];
}

/** Told at the first march alone, and not at all where another word names one of this architecture. */
function otherMachine(
  file: InspectedFile,
  architecture: March["architecture"],
  name: string,
  marches: readonly string[],
): readonly Finding[] {
  const isNamed = marches.some((each) => findMarch(each)?.architecture === architecture);
  if (isNamed || marches[0] !== name) return [];
  return [{ file: file.path, found: `code for ${file.cpu?.architecture}` }];
}

function cpuText({ architecture }: March, features: readonly string[]): string {
  const level = levelNeeded(architecture, features);
  return `${features.join(" ")}${level === null ? "" : ` (${level})`}`;
}

function libcIs(
  inspection: ImageInspection,
  wanted: "glibc" | "musl",
  most: VersionParts | null,
): readonly Finding[] {
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
  return [...wrong, ...shut(inspection)];
}
