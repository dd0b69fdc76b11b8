/** The start of HIP: the error codes of `hipInit` and `hipGetDeviceCount`. Source: ROCm/hip, include/hip/hip_runtime_api.h, `hipError_t`. */

import type { HostProblem } from "../../facts/facts.ts";
import { isContainer } from "../container-runtime.ts";
import type { HostIo } from "../host-io.ts";
import { type Failure, failureOf, type Start, type StartTable } from "../start-table.ts";
import { noPermission } from "./amd-problems.ts";
import { readKfd } from "./kfd.ts";

const versions = [7, 6, 5];

export const hipStart: StartTable = {
  runtime: "HIP",
  libraries: ["", "/opt/rocm/lib/"].flatMap((folder) =>
    versions.map((version) => `${folder}libamdhip64.so.${version}`),
  ),
  init: "hipInit",
  count: "hipGetDeviceCount",
  environment: (env) => ({
    ...env,
    HIP_VISIBLE_DEVICES: undefined,
    ROCR_VISIBLE_DEVICES: undefined,
    CUDA_VISIBLE_DEVICES: undefined,
    GPU_DEVICE_ORDINAL: undefined,
  }),
  whyMute: whyNoHipHere,
  problem: problemOf,
  given: () => 0,
  proved: async (facts) => facts,
};

/** All other codes are about the library: for example, the library does not know the target of a GPU. */
export const hipFailures: Readonly<Record<number, Failure>> = {
  2: { name: "hipErrorOutOfMemory", meaning: "out of memory" },
  3: { name: "hipErrorNotInitialized", meaning: "the runtime does not start" },
  999: { name: "hipErrorUnknown", meaning: "unknown error" },
};

/** ROCm leaves out the GPUs that its user may not open. */
function whyNoHipHere(io: HostIo): HostProblem | null {
  const cards = readKfd(io).gpus.flatMap(({ render }) => render ?? []);
  const isShut = (device: string) => io.exists(device) && !io.mayOpen(device);
  const shut = isShut("/dev/kfd") ? ["/dev/kfd"] : cards.every(isShut) ? cards : [];
  return shut.length === 0 ? null : noPermission(shut.join(", "), isContainer(io));
}

const cure = "see dmesg for amdgpu and kfd lines; reset the GPU (amd-smi reset -G) or reboot";

function problemOf(start: Start): HostProblem | null {
  // A library of another ROCm counts only the GPUs that it knows.
  if ("devices" in start) return null;
  const failed = failureOf(start, hipFailures);
  return failed && { code: "HOST_AMD_HIP_FAILED", message: failed.message, fix: cure };
}
