/** Finds the file that decides a reason against an image or another subject. */

import { sum } from "../io/collections.ts";
import type { ReasonCode } from "../resolve/verdict.ts";
import { atLeast } from "./cpu/cpu-need.ts";
import { codesIn, type InspectedFile } from "./file-inspection.ts";
import type { ImageInspection } from "./inspection.ts";
import { decidesDriver } from "./nvidia/measured-cuda.ts";

type Weigh = (
  file: InspectedFile,
  inspection: ImageInspection,
  features: ReadonlySet<string> | null,
) => number;

/** The file that weighs most decides; none decides if all weigh nothing. */
const weights: Readonly<Partial<Record<ReasonCode, Weigh>>> = {
  ARCH_MISMATCH: ({ program, size }) => (program === null ? 0 : size),
  CPU_FEATURES_MISSING: ({ answer, cpu }, _, features) =>
    sum(
      Object.entries(answer?.features ?? {}).map(([name, need]) =>
        features?.has(name) === false && atLeast(need, "undecided")
          ? 1 + (cpu?.features[name]?.instructions ?? 0)
          : 0,
      ),
    ),
  KERNEL_TOO_OLD: ({ program, size }, { requires }) => (program?.kernel === requires.kernel ? size : 0),
  DRIVER_TOO_OLD: driverWeight,
  NO_GPU_CODE: gpuBytes,
  PTX_TOO_NEW: driverWeight,
  NO_GPU: gpuBytes,
  NO_NVIDIA_DRIVER: gpuBytes,
  NO_AMD_GPU: gpuBytes,
  NO_AMD_DRIVER: gpuBytes,
};

function driverWeight(file: InspectedFile, { requires }: ImageInspection): number {
  return decidesDriver(file, requires) ? Number.POSITIVE_INFINITY : gpuBytes(file);
}

function gpuBytes(file: InspectedFile): number {
  return sum(codesIn(file).map(({ bytes }) => bytes));
}

/** @param features of the host's CPU; null if unknown */
export function decidingFile(
  code: ReasonCode,
  inspection: ImageInspection,
  features: ReadonlySet<string> | null,
): string | null {
  const weigh = weights[code];
  if (weigh === undefined) return null;
  const [first] = inspection.files
    .map((file) => ({ path: file.path, weight: weigh(file, inspection, features) }))
    .filter(({ weight }) => weight > 0)
    .sort((a, b) => b.weight - a.weight);
  return first?.path ?? null;
}
