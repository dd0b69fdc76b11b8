/** The answers of NVML, call by call, without interpretation. */

/** The value of one NVML call, or the call's `nvmlReturn_t` other than 0. */
export type NvmlAnswer<T> = { readonly value: T } | { readonly code: number };

export interface NvmlReading {
  /** The name of the library that was loaded. */
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
  /** Whether the GPUs take work, where confidential computing is on. Absent where it is off, and if nobody asked. */
  readonly ready?: NvmlAnswer<boolean>;
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
  /** null where the mode is off. */
  readonly mig: NvmlAnswer<readonly { readonly uuid: string; readonly name: string }[] | null>;
  /** `nvmlGpuFabricState_t`, and the `nvmlReturn_t` of a completed registration. Absent if nobody asked. */
  readonly fabric?: NvmlAnswer<{ readonly state: number; readonly status: number }>;
  /** `nvmlComputeMode_t`, `nvmlDeviceGpuRecoveryAction_t`, and whether a remapping of rows ever failed. Absent if nobody asked. */
  readonly computeMode?: NvmlAnswer<number>;
  readonly recovery?: NvmlAnswer<number>;
  readonly remapFailed?: NvmlAnswer<boolean>;
  /** Of the vGPU of a virtual machine: a licensable feature has its licence. Absent on other GPUs. */
  readonly licensed?: NvmlAnswer<boolean>;
  /** `nvmlGpuP2PStatus_t` of NVLink to each device of the list, 0 for itself. Absent if nobody asked. */
  readonly nvlink?: readonly NvmlAnswer<number>[];
}

/** The `nvmlReturn_t` values that mean something to the probe, in nvml.h's words. */
const returns = {
  /** No code of NVML: the library lacks the function. */
  absent: [-1, "a function that this library lacks"],
  success: [0, "error"],
  uninitialized: [1, "not initialized"],
  notSupported: [3, "not supported"],
  noPermission: [4, "no permission"],
  notFound: [6, "not found"],
  insufficientSize: [7, "error"],
  driverNotLoaded: [9, "driver not loaded"],
  libraryNotFound: [12, "library not found"],
  functionNotFound: [13, "function not found"],
  gpuIsLost: [15, "GPU is lost"],
  resetRequired: [16, "GPU requires a reset"],
  operatingSystem: [17, "blocked by the operating system or its cgroups"],
  versionMismatch: [18, "driver and library of different versions"],
  gpuNotFound: [28, "GPU not found"],
  unknown: [999, "unknown error"],
} as const satisfies Record<string, readonly [code: number, meaning: string]>;

export const nvmlCodes = Object.fromEntries(
  Object.entries(returns).map(([name, [code]]) => [name, code]),
) as Readonly<Record<keyof typeof returns, number>>;

export function nvmlMeaning(code: number): string {
  const meaning = Object.values(returns).find(([each]) => each === code)?.[1] ?? "error";
  return `${meaning} (NVML code ${code})`;
}

export function nvmlValue<T>(answer: NvmlAnswer<T> | undefined): T | null {
  return answer !== undefined && "value" in answer ? answer.value : null;
}

export function nvmlCode(answer: NvmlAnswer<unknown>): number {
  return "value" in answer ? nvmlCodes.success : answer.code;
}
