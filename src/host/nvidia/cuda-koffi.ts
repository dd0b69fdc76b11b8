/** Calls libcuda in this process through koffi. Source of every signature and number: cuda.h of CUDA 13.0. */

import type { GpuFacts } from "../../facts/facts.ts";
import { type Call, cString, openLibrary, pointer, uint } from "../native-library.ts";
import { formatCuda } from "./nvml.ts";

/** A `CUresult`, with the driver's name for it. */
export interface CudaResult {
  readonly code: number;
  readonly name: string | null;
}

/** `209 CUDA_ERROR_NO_BINARY_FOR_GPU` */
export function formatResult({ code, name }: CudaResult): string {
  return name === null ? `${code}` : `${code} ${name}`;
}

export interface CudaDriver {
  /** The result of `cuInit`. Without success there are no devices. */
  readonly init: CudaResult;
  /** Highest CUDA version that the driver offers: `12.8`. */
  readonly cuda: string | null;
  /** One device of each kind. */
  readonly devices: readonly Pick<GpuFacts, "name" | "compute">[];
  /** Loads a module on a device of the list and unloads it. None of its code runs. */
  readonly load: (device: number, image: Uint8Array) => CudaResult;
}

/** CUDA_ERROR_NOT_FOUND: the answer of a function that this version of the library lacks. */
const notFound = 500;
const attributes = { computeMajor: 75, computeMinor: 76 } as const;
const textBytes = 256;
const maxDevices = 256;

/** null without koffi or library. */
export async function openCuda(libraries: readonly string[]): Promise<CudaDriver | null> {
  const library = await openLibrary(libraries, notFound);
  if (library === null) return null;
  const { bind } = library;
  const number = (call: Call, ...after: readonly number[]): number | null => {
    const buffer = Buffer.alloc(4);
    return call(buffer, ...after) === 0 ? uint(buffer, 0) : null;
  };
  const resultOf = (code: number): CudaResult => {
    const place = Buffer.alloc(8);
    const isKnown = bind("cuGetErrorName", ["int", "void *"])(code, place) === 0;
    return { code, name: isKnown ? library.textAt(place) : null };
  };
  const init = resultOf(bind("cuInit", ["uint"])(0));
  const count = init.code === 0 ? (number(bind("cuDeviceGetCount", ["void *"])) ?? 0) : 0;
  const found = Array.from({ length: Math.min(count, maxDevices) }, (_, ordinal) => {
    const device = number(bind("cuDeviceGet", ["void *", "int"]), ordinal) ?? ordinal;
    const name = Buffer.alloc(textBytes);
    const isNamed = bind("cuDeviceGetName", ["void *", "int", "int"])(name, textBytes, device) === 0;
    const [major, minor] = [attributes.computeMajor, attributes.computeMinor].map((attribute) =>
      number(bind("cuDeviceGetAttribute", ["void *", "int", "int"]), attribute, device),
    );
    const compute = major == null || minor == null ? null : `${major}.${minor}`;
    return { device, name: isNamed ? cString(name) : null, compute };
  });
  const kinds = found.filter(
    (each, index) =>
      found.findIndex(({ name, compute }) => name === each.name && compute === each.compute) === index,
  );
  const contexts = new Map<number, bigint>();
  const enter = (device: number): number => {
    if (!contexts.has(device)) {
      const context = Buffer.alloc(8);
      const code = bind("cuDevicePrimaryCtxRetain", ["void *", "int"])(context, device);
      if (code !== 0) return code;
      contexts.set(device, pointer(context));
    }
    return bind("cuCtxSetCurrent", ["uintptr_t"])(contexts.get(device) ?? 0n);
  };
  return {
    init,
    cuda: formatCuda(number(bind("cuDriverGetVersion", ["void *"]))),
    devices: kinds.map(({ name, compute }) => ({ name, compute })),
    load(index, image) {
      const ready = enter(kinds[index]?.device ?? -1);
      if (ready !== 0) return resultOf(ready);
      // PTX must end with a zero byte.
      const padded = Buffer.concat([image, Buffer.alloc(8)]);
      const module = Buffer.alloc(8);
      const code = bind("cuModuleLoadData", ["void *", "void *"])(module, padded);
      if (code === 0) bind("cuModuleUnload", ["uintptr_t"])(pointer(module));
      return resultOf(code);
    },
  };
}
