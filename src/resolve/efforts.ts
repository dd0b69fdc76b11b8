/** How far an image is from a host: what has to change. */

import type { Misfit, ReasonCode } from "./verdict.ts";

/** The effort of a cure: a word of the user, an update of the host, an image that somebody has to build, other hardware. */
export const efforts = {
  PIN_MISMATCH: 1,
  NOT_BUILT: 1,
  NOT_PUSHED: 1,
  NVIDIA_REQUIRE_UNSATISFIED: 2,
  DRIVER_TOO_OLD: 2,
  PTX_TOO_NEW: 2,
  KERNEL_TOO_OLD: 2,
  COMPAT_NOT_SUPPORTED: 2,
  DRIVER_NOT_EXACT: 3,
  NO_NVIDIA_DRIVER: 3,
  NO_AMD_DRIVER: 3,
  CPU_FEATURES_MISSING: 4,
  NO_GPU_CODE: 4,
  NO_GPU: 8,
  NO_AMD_GPU: 8,
  REQUIREMENT_UNKNOWN: 8,
  HOST_BROKEN: 8,
  FACT_UNKNOWN: 8,
  ARCH_MISMATCH: 64,
} as const satisfies Record<ReasonCode, number>;

/** First the least that has to change, then the least that is missing in the rules' own units. */
export function effortOf(misfits: readonly Misfit[]): readonly [number, number] {
  const total = (numbers: readonly number[]) => numbers.reduce((sum, number) => sum + number, 0);
  return [total(misfits.map(({ code }) => efforts[code])), total(misfits.map(({ by = 1 }) => by))];
}
