/** Tells which features a file and an image need of a CPU, and which they may use. A feature in doubt may be used. */

import { neverNeededFeatures, x86Baseline } from "../../hardware/cpu-features.ts";
import { findMarch } from "../../hardware/cpu-marches.ts";
import { compareVersions } from "../../hardware/driver-version.ts";
import { compareFirst } from "../../io/collections.ts";
import { count } from "../tally.ts";
import type { CpuCode } from "./cpu-code.ts";

export type FeatureNeed = "needed" | "mayBeUsed";

export interface CpuNeed {
  /** By Linux name, sorted. Other features are not used. */
  readonly features: Readonly<Record<string, FeatureNeed>>;
  /** Why features may be used and are not needed: `cpuid`, `IFUNC`, `getauxval`, or that the file is one of several. */
  readonly asks: readonly string[];
}

/**
 * A file with such a share of {@link CpuCode.vexOnly} was compiled for AVX, whatever it asks the CPU. Such files have 0.75 and more; files
 * that choose at run time have at most 0.5, and libmvec 0.72.
 */
const compiledForAvx = 0.85;

/** The loader enforces `neededLevel`, the level of the file's note. `isVariant`: see `dispatch.ts`. */
export function findCpuNeed(cpu: CpuCode, isVariant: boolean, neededLevel: string | null): CpuNeed {
  const asks = isVariant ? [...cpu.asks, "one of several files"] : cpu.asks;
  const enforced = new Set(neededLevel === null ? [] : (findMarch(neededLevel)?.features ?? []));
  const needed = ([name, { instructions }]: [string, CpuCode["features"][string]]) =>
    instructions > 0 &&
    !neverNeededFeatures.has(name) &&
    (asks.length === 0 || (name === "avx" && !isVariant && (cpu.vexOnly ?? 0) >= compiledForAvx));
  const found = new Map<string, FeatureNeed>(
    Object.entries(cpu.features).map((entry) => [entry[0], needed(entry) ? "needed" : "mayBeUsed"]),
  );
  if (!isVariant) for (const name of enforced) if (!x86Baseline.has(name)) found.set(name, "needed");
  return { features: Object.fromEntries([...found].sort(compareFirst)), asks };
}

export interface ImageCpu {
  /** `x86_64`, `aarch64`; null if no program tells it. */
  readonly architecture: string | null;
  /** The features of all files of this architecture. */
  readonly features: CpuNeed["features"];
  /** Levels that have files in `glibc-hwcaps`. */
  readonly hwcaps: readonly string[];
  /** The oldest kernel that its programs run on, by their notes. */
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
  const features = new Map<string, "needed" | "mayBeUsed">();
  for (const { answer, cpu } of files.filter((file) => file.cpu?.architecture === architecture)) {
    if (cpu === null) continue;
    for (const [name, use] of Object.entries(answer?.features ?? {}))
      if (use === "needed" || !features.has(name)) features.set(name, use);
  }
  const hwcaps = files.map(({ path }) => /(?:^|\/)glibc-hwcaps\/([^/]+)\//.exec(path)?.[1] ?? "");
  const kernels = files.map(({ program }) => program?.kernel ?? null).filter((kernel) => kernel !== null);
  return {
    architecture,
    features: Object.fromEntries([...features].sort(compareFirst)),
    hwcaps: [...new Set(hwcaps.filter(Boolean))].sort(),
    kernel: kernels.length === 0 ? null : kernels.reduce((a, b) => (compareKernels(a, b) >= 0 ? a : b)),
  };
}

const architectures: Readonly<Record<string, string>> = { amd64: "x86_64", arm64: "aarch64", "386": "x86" };

/** The platform's architecture, null if its code is not read. Without a platform, the architecture of most programs. */
function architectureOf(files: readonly ImageFile[], platform: string | null): string | null {
  if (platform !== null) return architectures[platform.split("/")[1] ?? ""] ?? null;
  const counts = new Map<string, number>();
  for (const { cpu } of files) if (cpu !== null) count(counts, cpu.architecture);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}

function compareKernels(a: string, b: string): number {
  return compareVersions(a.split(".").map(Number), b.split(".").map(Number));
}
