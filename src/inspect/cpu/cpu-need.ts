/** Tells the CPU features that a file and an image need, were compiled for, and may use. */

import { neverNeededFeatures, x86Baseline } from "../../hardware/cpu-features.ts";
import { findMarch, marchesRunning, neededFeatures } from "../../hardware/cpu-marches.ts";
import { compareVersionTexts } from "../../hardware/driver-version.ts";
import { compareFirst } from "../../io/collections.ts";
import { count } from "../tally.ts";
import { isAtomicsQuestion, isOwnQuestion } from "./own-questions.ts";
import type { CpuCode } from "./cpu-code.ts";
import { goSign } from "./go-runtime.ts";
import { familyOf, judgeCode } from "./judge-code.ts";

/**
 * `needed` is proved: the loader demands the feature. `compiledFor` is an estimate: all that is known of the file speaks for a build that
 * takes the feature for granted. `undecided`: what is known speaks for both. The rest may be used.
 */
export type FeatureNeed = "needed" | "compiledFor" | "undecided" | "mayBeUsed";

export interface CpuNeed {
  /** By Linux name, sorted. Other features are not used. */
  readonly features: Readonly<Record<string, FeatureNeed>>;
  /**
   * Why features may be used and are not taken for granted: `cpuid`, `IFUNC`, `av_get_cpu_flags of libavutil.so.57`, that no CPU has all the
   * features, or that the file is a variant.
   */
  readonly asks: readonly string[];
}

export interface FileWithCode {
  readonly cpu: CpuCode;
  /** See `dispatch.ts`. */
  readonly isVariant: boolean;
  /** Whoever loads the file may ask before: see `dispatch.ts`. */
  readonly isOptional?: boolean;
  /** The level of the file's note, which the loader enforces. */
  readonly neededLevel: string | null;
  /** The functions of other libraries by which the file can ask: {@link asksThrough}. */
  readonly through: readonly string[];
}

export function findCpuNeed({
  cpu,
  isVariant,
  isOptional = false,
  neededLevel,
  through,
}: FileWithCode): CpuNeed {
  const used = Object.entries(cpu.features)
    .filter(([name, { instructions }]) => instructions > 0 && !neverNeededFeatures.has(name))
    .map(([name]) => name);
  const exclusive = exclusiveFeatures(used);
  const own = [
    ...cpu.asks.filter((sign) => !isOwnQuestion(sign)),
    ...(exclusive === null ? [] : [`no CPU has ${exclusive.join(" with ")}`]),
    ...(isVariant ? ["one of several files"] : []),
  ];
  const proved = provedOf(cpu, neededLevel, isVariant);
  const judged = judgeCode(cpu.evidence, used, proved);
  const reached = new Set(cpu.start?.reached);
  const taking = [...reached].filter((name) => !judged.isRefuted(name));
  const active = new Set([...proved, ...taking, ...used.filter(judged.isCompiledFor)].map(familyOf));
  const isEnded = cpu.start?.isWhole === false;
  const needOf = (name: string): FeatureNeed => {
    if (isVariant || (exclusive !== null && givenUp.has(name))) return "mayBeUsed";
    if (judged.isCompiledFor(name)) return "compiledFor";
    if (isEnded) return "undecided";
    // A function with LSE alone asks nothing.
    if (name === "atomics" && cpu.asks.some(isAtomicsQuestion))
      return (cpu.evidence?.pairs.atomics?.newer ?? 0) > 0 ? "undecided" : "mayBeUsed";
    const isGo = cpu.asks.includes(goSign);
    // Go's functions with both ask for one of them, and crc64nvme asks for PMULL.
    if (isGo && name === "sha3" && cpu.evidence?.beside.sha3 !== undefined) return "undecided";
    const family = familyOf(name);
    // Go's libraries choose, whatever the program was compiled for.
    const isFamily = family !== "other" && active.has(family);
    const isUnchosen = cpu.start?.unchosen.includes(name) === true;
    const isHand = byHand.has(name);
    // Nobody compiles for AES alone: a file that was not compiled for SSE4 chooses.
    const isHandChosen = isHand && !isUnchosen && judged.isRefuted("sse4_1");
    // A linked runtime's many functions for SSE2 refute nothing that a program's few lead to.
    const isBehind = cpu.start?.behindHanded.includes(name) === true && !judged.isHardlySse4;
    const isTaken = (isFamily || isBehind || reached.has(name)) && !isGo && !isHandChosen;
    // What older code of the file leads to may hang on an answer that lies anywhere.
    const isLed = (family === "avx" || isHand) && !isUnchosen;
    const taken = reached.has(name) && !isLed && !judged.isOlder(family) ? "compiledFor" : "undecided";
    if (own.length > 0) {
      if (judged.isRefuted(name) && !isBehind) return "mayBeUsed";
      if (judged.isPlainlyOlder(family) && !isUnchosen && !proved.includes(name)) return "mayBeUsed";
      if (!isTaken && (family !== "avx" || judged.mayChooseAvx)) return "mayBeUsed";
      return taken;
    }
    const isChosen = !isTaken && (givenUp.has(name) || judged.mayChooseThrough(name));
    if (through.length > 0) return isChosen ? "mayBeUsed" : taken;
    // Callers may choose what stands in a library and has no pair that would tell: on AArch64 all but LSE.
    const hasSign = cpu.architecture !== "aarch64" && (!isHand || reached.has(name));
    return hasSign && judged.isLikely(name) ? "compiledFor" : taken;
  };
  const found = new Map<string, FeatureNeed>(Object.keys(cpu.features).map((name) => [name, "mayBeUsed"]));
  for (const name of used) found.set(name, needOf(name));
  for (const name of cpu.start?.mayRefuse ?? [])
    if (!x86Baseline.has(name) && !atLeast(found.get(name), "undecided")) found.set(name, "undecided");
  for (const name of proved) found.set(name, "needed");
  if (isOptional) for (const [name, need] of found) if (need !== "mayBeUsed") found.set(name, "undecided");
  return {
    features: Object.fromEntries([...found].sort(compareFirst)),
    asks: [...new Set([...cpu.asks, ...own, ...through])],
  };
}

/** No compiler writes these by itself: somebody wrote the code by hand, and mostly a question before it. */
const byHand: ReadonlySet<string> = new Set(["aes", "pclmulqdq", "sha_ni"]);

/** The features that the loader or the start demands. A file of several is loaded only where its features are there. */
function provedOf(cpu: CpuCode, neededLevel: string | null, isVariant: boolean): readonly string[] {
  if (isVariant) return [];
  const enforced = neededLevel === null ? [] : (findMarch(neededLevel)?.features ?? []);
  const all = [...enforced, ...Object.keys(cpu.start?.needed ?? {})];
  return all.filter((name) => !x86Baseline.has(name) && !neverNeededFeatures.has(name));
}

/**
 * Features that AMD gave up: 3DNow! with the families 15h and 14h, FMA4, XOP and TBM with Zen. Later CPUs lack these features, so a library
 * that asks the CPU takes none of the features for granted (AMD64 Architecture Programmer's Manual 3, appendix D; 3DNow! Instruction Porting
 * Guide).
 */
const givenUp: ReadonlySet<string> = new Set(["3dnow", "3dnowext", "fma4", "tbm", "xop"]);

/** Two of the features that no CPU of the tables has together; null if there are none. */
function exclusiveFeatures(used: readonly string[]): readonly [string, string] | null {
  const all = used.filter((name) => givenUp.has(name));
  const known = new Set(all.length === 0 ? [] : neededFeatures("amd64"));
  for (const old of all)
    for (const other of used)
      if (known.has(other) && marchesRunning("amd64", [old, other]).length === 0) return [old, other];
  return null;
}

interface LinkedFile {
  readonly cpu: CpuCode | null;
  readonly program: { readonly soname: string | null; readonly needed: readonly string[] } | null;
}

/** The C and C++ runtimes choose their own routines. The choice says nothing of the files that call a runtime. */
const runtimes = /^(?:lib(?:c|m|pthread|mvec|stdc\+\+|gcc_s|gomp|rt|dl)\.so|libc\.musl-|ld-(?:linux|musl)-)/;

/**
 * Returns a function that answers the imported functions by which a file can ask for the CPU's features: the file names the library, and the
 * function's code asks.
 */
export function asksThrough(files: readonly LinkedFile[]): (file: LinkedFile) => readonly string[] {
  const answering = new Map<string, ReadonlySet<string>>();
  for (const { cpu, program } of files)
    if (cpu !== null && program?.soname != null && cpu.answersBy.length > 0 && !runtimes.test(program.soname))
      answering.set(program.soname, new Set(cpu.answersBy));
  return ({ cpu, program }) =>
    (program?.needed ?? []).flatMap((library) => {
      const exported = answering.get(library);
      const name = cpu?.calls.find((each) => exported?.has(each));
      return name === undefined ? [] : [`${name} of ${library}`];
    });
}

export interface ImageCpu {
  /** `x86_64`, `aarch64`; null if no program tells it. */
  readonly architecture: string | null;
  /** The features of all files of this architecture. */
  readonly features: CpuNeed["features"];
  /** Levels that have files in `glibc-hwcaps`. */
  readonly hwcaps: readonly string[];
  /** The oldest kernel that the programs run on, by the programs' notes. */
  readonly kernel: string | null;
}

interface ImageFile {
  readonly path: string;
  readonly cpu: CpuCode | null;
  readonly answer: CpuNeed | null;
  readonly program: { readonly kernel: string | null } | null;
}

export function cpuOf(files: readonly ImageFile[], platform: string | null): ImageCpu {
  const architecture = architectureOf(files, platform);
  const features = new Map<string, FeatureNeed>();
  for (const { answer } of files.filter(({ cpu }) => cpu?.architecture === architecture))
    for (const [name, use] of Object.entries(answer?.features ?? {}))
      if (!atLeast(features.get(name), use)) features.set(name, use);
  const hwcaps = files.map(({ path }) => /(?:^|\/)glibc-hwcaps\/([^/]+)\//.exec(path)?.[1] ?? "");
  const kernels = files.map(({ program }) => program?.kernel ?? null).filter((kernel) => kernel !== null);
  return {
    architecture,
    features: Object.fromEntries([...features].sort(compareFirst)),
    hwcaps: [...new Set(hwcaps.filter(Boolean))].sort(),
    kernel: kernels.length === 0 ? null : kernels.reduce((a, b) => (compareVersionTexts(a, b) >= 0 ? a : b)),
  };
}

const needs = ["mayBeUsed", "undecided", "compiledFor", "needed"] as const satisfies readonly FeatureNeed[];

/** True for a need that is as strong as another, or stronger. */
export function atLeast(need: FeatureNeed | undefined, other: FeatureNeed): boolean {
  return need !== undefined && needs.indexOf(need) >= needs.indexOf(other);
}

const architectures: Readonly<Record<string, string>> = { amd64: "x86_64", arm64: "aarch64", "386": "x86" };

/** The platform's architecture, null if its code is not read. Without a platform, the architecture of most programs. */
function architectureOf(files: readonly ImageFile[], platform: string | null): string | null {
  if (platform !== null) return architectures[platform.split("/")[1] ?? ""] ?? null;
  const counts = new Map<string, number>();
  for (const { cpu } of files) if (cpu !== null) count(counts, cpu.architecture);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}
