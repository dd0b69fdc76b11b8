/** The start of CUDA: the error codes of `cuInit` and `cuDeviceGetCount`, with their causes. Source: cuda.h of CUDA 13.0, `CUresult`. */

import type { HostFacts, HostProblem, NvidiaFacts } from "../../facts/facts.ts";
import { type Failure, failureOf, type Start, type StartTable } from "../start-table.ts";
import { whyNoCudaHere } from "./device-nodes.ts";
import { cudaLibraries } from "./surroundings.ts";

export const cudaStart: StartTable = {
  runtime: "CUDA",
  libraries: cudaLibraries,
  init: "cuInit",
  count: "cuDeviceGetCount",
  // The libcuda of a forward-compatibility package speaks for an image.
  environment: ({ LD_LIBRARY_PATH: path, ...env }) => ({
    ...env,
    LD_LIBRARY_PATH: path
      ?.split(":")
      .filter((folder) => !/\/compat(?:_orin)?(?:\/|$)/.test(folder))
      .join(":"),
    CUDA_VISIBLE_DEVICES: undefined,
  }),
  whyMute: whyNoCudaHere,
  problem: problemOf,
  proved: (facts) => ({
    ...facts,
    ...(facts.nvidia && { nvidia: { ...facts.nvidia, starts: true } }),
    problems: facts.problems.filter(({ code }) => code !== "HOST_GPU_UNSUPPORTED_BY_DRIVER"),
  }),
};

interface CudaFailure extends Failure {
  /** Problems of the facts that name the cause. */
  readonly named: readonly HostProblem["code"][];
  readonly fix: (nvidia: NvidiaFacts) => string;
}

const seeKernel = "see dmesg for NVRM and Xid lines";

/** Other codes are about this process: a stub library (34), the daemon of MPS (805 to 810). */
export const cudaFailures: Readonly<Record<number, CudaFailure>> = {
  2: {
    name: "CUDA_ERROR_OUT_OF_MEMORY",
    meaning: "out of memory",
    named: [],
    fix: () =>
      "end programs that hold the GPU's memory (nvidia-smi lists them), or give this process more memory",
  },
  46: {
    name: "CUDA_ERROR_DEVICE_UNAVAILABLE",
    meaning: "a device is unavailable: its compute mode is Prohibited, or another program has it alone",
    named: ["HOST_GPU_NOT_READY"],
    fix: () =>
      "end the other program, or set the mode back: nvidia-smi -c DEFAULT (nvidia-smi -q -d COMPUTE shows it)",
  },
  100: {
    name: "CUDA_ERROR_NO_DEVICE",
    meaning: "no device",
    named: [
      "HOST_MIG_EMPTY",
      "HOST_NO_DEVICES",
      "HOST_GPU_UNSUPPORTED_BY_DRIVER",
      "HOST_CONTAINER_WITHOUT_DEVICES",
    ],
    fix: ({ gpus }) =>
      gpus.some(({ mig }) => mig === undefined)
        ? `see whether MIG mode is on without an instance (nvidia-smi -L); else ${seeKernel}, and reboot`
        : `${seeKernel} (Xid 78: a vGPU guest needs a driver of its host's branch), and reboot`,
  },
  304: {
    name: "CUDA_ERROR_OPERATING_SYSTEM",
    meaning: "a call of the operating system failed",
    named: ["HOST_NO_UVM"],
    fix: () => `run nvidia-modprobe -u -c=0 as root, which makes /dev/nvidia-uvm; else ${seeKernel}`,
  },
  802: {
    name: "CUDA_ERROR_SYSTEM_NOT_READY",
    meaning: "the system is not yet initialized",
    named: ["HOST_FABRIC_NOT_READY", "HOST_GPU_NOT_READY"],
    fix: ({ gpus }) => {
      const isUp = gpus.every(({ fabric }) => fabric === "completed" || fabric === "none");
      const ready = "set the GPUs ready where confidential computing is on: nvidia-smi conf-compute -srs 1";
      return isUp ? ready : `start nvidia-fabricmanager where the GPUs are behind NVSwitches; ${ready}`;
    },
  },
  803: {
    name: "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
    meaning: "kernel module and libcuda are of different versions",
    named: ["HOST_DRIVER_LIBRARY_MISMATCH"],
    fix: ({ library, driver }) =>
      library === driver
        ? "find the other libcuda.so.1 on the loader's path (ldconfig -p, LD_LIBRARY_PATH), and remove it"
        : "reboot, so that the installed driver's module is the loaded one",
  },
  804: {
    name: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    meaning: "a forward-compatibility package is loaded, and this GPU does not support it",
    named: [],
    fix: () => "remove the package cuda-compat from this host, or its folder from /etc/ld.so.conf.d",
  },
  999: {
    name: "CUDA_ERROR_UNKNOWN",
    meaning: "unknown error",
    named: ["HOST_NO_UVM"],
    fix: () => `load nvidia_uvm anew (rmmod nvidia_uvm, modprobe nvidia_uvm), or reboot; ${seeKernel}`,
  },
};

function problemOf(start: Start, { nvidia, problems }: HostFacts): HostProblem | null {
  const fails = (message: string, fix: string): HostProblem => ({ code: "HOST_CUDA_FAILED", message, fix });
  const isNamed = ({ named }: Pick<CudaFailure, "named">) =>
    problems.some(({ code }) => named.includes(code));
  const none = cudaFailures[100];
  if (nvidia == null || none === undefined) return null;
  if ("devices" in start)
    return start.devices > 0 || isNamed(none)
      ? null
      : fails(`${cudaStart.count} finds none of ${nvidia.gpus.length} GPUs`, none.fix(nvidia));
  const failed = failureOf(start, cudaFailures);
  if (failed === null || (failed.row !== null && isNamed(failed.row))) return null;
  const dead = `${seeKernel}; a driver that hangs or crashes needs a reboot`;
  return fails(failed.message, failed.row?.fix(nvidia) ?? dead);
}
