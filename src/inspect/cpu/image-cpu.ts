/** The CPU needs of an image, out of those of its files. */

import { compareVersions } from "../../hardware/driver-version.ts";
import { compareFirst } from "../../io/collections.ts";
import type { InspectedFile } from "../file-inspection.ts";
import { count } from "../tally.ts";
import type { CpuNeed } from "./cpu-need.ts";

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

export function cpuOf(files: readonly InspectedFile[], platform: string | null): ImageCpu {
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
function architectureOf(files: readonly InspectedFile[], platform: string | null): string | null {
  if (platform !== null) return architectures[platform.split("/")[1] ?? ""] ?? null;
  const counts = new Map<string, number>();
  for (const { cpu } of files) if (cpu !== null) count(counts, cpu.architecture);
  return [...counts].sort(([, a], [, b]) => b - a)[0]?.[0] ?? null;
}

function compareKernels(a: string, b: string): number {
  return compareVersions(a.split(".").map(Number), b.split(".").map(Number));
}
