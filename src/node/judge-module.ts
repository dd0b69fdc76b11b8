/** Judges one module of GPU code on one GPU by the rules of resolve, and compares the verdict with the driver's. */

import { parseGpuTarget, targetRunsOn } from "../hardware/gpu-target.ts";
import type { CudaResult } from "../host/nvidia/cuda-koffi.ts";
import type { GpuFacts, NvidiaFacts } from "../facts/facts.ts";
import { unknownHost } from "../facts/no-facts.ts";
import { driverFiles } from "../inspect/nvidia/driver-files.ts";
import { measureFloor } from "../inspect/nvidia/driver-floor.ts";
import type { ModuleFacts } from "../inspect/nvidia/loadable-modules.ts";
import { viewHost } from "../resolve/host-view.ts";
import { checkDriver } from "../resolve/rules/nvidia/driver.ts";
import { checkGpuCode } from "../resolve/rules/nvidia/gpu-code.ts";
import type { ReasonCode } from "../resolve/verdict.ts";

export interface ModuleVerdict {
  /** null if the rules do not decide. */
  readonly loads: boolean | null;
  readonly code: ReasonCode | null;
  /** The reason against the module, or for no decision; null for a module that loads. */
  readonly message: string | null;
}

/** Judges the module as an image that holds nothing else. */
export function judgeModule(
  { target, made }: ModuleFacts,
  nvidia: NvidiaFacts,
  gpu: GpuFacts,
): ModuleVerdict {
  const undecided = (message: string): ModuleVerdict => ({ loads: null, code: null, message });
  const view = viewHost({ ...unknownHost("linux/amd64"), nvidia: { ...nvidia, gpus: [gpu] } }).nvidia;
  const parsed = parseGpuTarget(target);
  const compute = view?.gpus[0]?.compute ?? null;
  if (view === null || parsed === null || compute === null)
    return undecided("the target, or the compute capability of the GPU, is not known");
  const floor = measureFloor(
    made === null ? [] : [{ path: target, gpu: { toolkits: [{ ...made, entries: 1 }] }, needed: [] }],
    driverFiles([]),
  );
  const [toolkit, minimum] =
    floor !== null && "minimum" in floor ? [floor.toolkit, floor.minimum] : ["", null];
  const requirement = { toolkit, code: [target], driver: { mode: "host", minimum: minimum ?? "" } } as const;
  const service = minimum === null || view.driver === null ? null : checkDriver(requirement, view);
  const refused =
    service?.ok === false ? service : checkGpuCode(requirement, view, service?.ok ? service : null);
  if ("ok" in refused && refused.code === "FACT_UNKNOWN") return undecided(refused.message);
  if ("ok" in refused) return { loads: false, code: refused.code, message: refused.message };
  if (minimum === null) return undecided("its toolkit, and so the oldest driver for it, is not known");
  if (view.driver === null) return undecided("the version of the driver is not known");
  return { loads: targetRunsOn(parsed, compute), code: null, message: null };
}

/** Each `CUresult` that is about the module and nothing else (cuda.h). */
const refusals: ReadonlySet<number> = new Set([
  200, // CUDA_ERROR_INVALID_IMAGE
  209, // CUDA_ERROR_NO_BINARY_FOR_GPU
  218, // CUDA_ERROR_INVALID_PTX
  222, // CUDA_ERROR_UNSUPPORTED_PTX_VERSION
]);

/** Tells whether the driver loads the module; null if it failed for another reason, or ended the process. */
export function loadedBy(answer: CudaResult | null): boolean | null {
  if (answer === null) return null;
  return answer.code === 0 ? true : refusals.has(answer.code) ? false : null;
}

/** Tells whether rules and driver agree; null if either does not decide. */
export function agreement({ loads }: ModuleVerdict, answer: CudaResult | null): boolean | null {
  const loaded = loadedBy(answer);
  return loads === null || loaded === null ? null : loads === loaded;
}
