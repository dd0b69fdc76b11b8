/** What NVML answered, call by call, before anything is concluded from it. */

/** The value of one NVML call, or the `nvmlReturn_t` other than 0 that it gave. */
export type NvmlAnswer<T> = { readonly value: T } | { readonly code: number };

export interface NvmlReading {
  /** The library that was loaded, as given to the loader. */
  readonly library: string;
  /** `nvmlReturn_t` of `nvmlInit_v2`; the rest means nothing unless it is 0. */
  readonly init: number;
  readonly driverVersion: NvmlAnswer<string>;
  /** `12.550.54.15`: CUDA major, then the library's own version (before R520 `11.` likewise). */
  readonly nvmlVersion: NvmlAnswer<string>;
  /** 1000 × major + 10 × minor. */
  readonly cudaVersion: NvmlAnswer<number>;
  readonly deviceCount: NvmlAnswer<number>;
  readonly devices: readonly NvmlDevice[];
}

export interface NvmlDevice {
  /** `nvmlReturn_t` of `nvmlDeviceGetHandleByIndex_v2`; the rest means nothing unless it is 0. */
  readonly handle: number;
  readonly uuid: NvmlAnswer<string>;
  readonly name: NvmlAnswer<string>;
  readonly compute: NvmlAnswer<readonly [major: number, minor: number]>;
  /** `device << 16 | vendor`, and the PCI address. */
  readonly pci: NvmlAnswer<{ readonly id: number; readonly bus: string }>;
  readonly memory: NvmlAnswer<{ readonly totalBytes: number; readonly usedBytes: number }>;
  readonly processes: NvmlAnswer<number>;
  readonly mig: NvmlAnswer<readonly { readonly uuid: string; readonly name: string }[]>;
}

/** The `nvmlReturn_t` values that mean something to the probe (nvml.h). */
export const nvmlCodes = {
  success: 0,
  uninitialized: 1,
  notSupported: 3,
  noPermission: 4,
  notFound: 6,
  insufficientSize: 7,
  driverNotLoaded: 9,
  libraryNotFound: 12,
  functionNotFound: 13,
  gpuIsLost: 15,
  resetRequired: 16,
  operatingSystem: 17,
  versionMismatch: 18,
  gpuNotFound: 28,
  unknown: 999,
} as const;

export function nvmlValue<T>(answer: NvmlAnswer<T>): T | null {
  return "value" in answer ? answer.value : null;
}

export function nvmlCode(answer: NvmlAnswer<unknown>): number {
  return "value" in answer ? nvmlCodes.success : answer.code;
}
