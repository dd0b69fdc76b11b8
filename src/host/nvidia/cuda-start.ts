/** The start of CUDA: the error codes of `cuInit` and `cuDeviceGetCount`, with their causes. Source: cuda.h of CUDA 13.0, `CUresult`. */

import { withBrokenStates } from "../../facts/broken-states.ts";
import type { HostFacts, HostProblem, NvidiaFacts } from "../../facts/facts.ts";
import { isContainer } from "../container-runtime.ts";
import type { HostIo } from "../host-io.ts";
import { pciVendors, readPciGpus } from "../pci.ts";
import { type Failure, failureOf, type Start, type StartTable } from "../start-table.ts";
import { completeGpus } from "./complete-gpus.ts";
import { whyNoCudaHere } from "./device-nodes.ts";
import { procCards, readProcNvidia } from "./proc-reading.ts";
import { cudaLibraries, libraryFolders } from "./surroundings.ts";

export const cudaStart: StartTable = {
  runtime: "CUDA",
  libraries: cudaLibraries,
  init: "cuInit",
  count: "cuDeviceGetCount",
  // A stub, or the libcuda of a forward-compatibility package, speaks for this process or an image.
  environment: ({ LD_LIBRARY_PATH: path, ...env }, io) => {
    const own = ownFolders(path, io);
    const others = path?.split(":").filter((folder) => !own.includes(folder));
    return { ...env, LD_LIBRARY_PATH: others?.join(":"), CUDA_VISIBLE_DEVICES: undefined };
  },
  whyMute: whyNoCudaHere,
  problem: problemOf,
  given: (io) => {
    const cards = procCards(io).filter(({ node }) => !isContainer(io) || (node !== null && io.exists(node)));
    // A container sees the whole bus.
    return isContainer(io) ? cards.length : Math.max(cards.length, boundGpus(io).length);
  },
  proved,
  own: {
    isOpen: ({ nvidia, problems }, io) =>
      problems.every(({ code }) => code !== "HOST_CUDA_FAILED") &&
      (nvidia?.starts !== true || ownFolders(io.env.LD_LIBRARY_PATH, io).length > 0),
    problem: ownProblem,
  },
};

/** Folders of the user's own LD_LIBRARY_PATH that have a libcuda: those of the driver are not the user's. */
function ownFolders(path: string | undefined, io: HostIo): readonly string[] {
  const drivers: readonly string[] = libraryFolders;
  return (path ?? "")
    .split(":")
    .filter((folder) => folder !== "" && !drivers.includes(folder) && io.exists(`${folder}/libcuda.so.1`));
}

function boundGpus(io: HostIo) {
  const ours = readPciGpus(io).filter(({ id }) => id.startsWith(`${pciVendors.nvidia.id}:`));
  return ours.filter(({ driver }) => driver === "nvidia");
}

/** What other sources say of the start of CUDA. HOST_GPU_NOT_READY: facts of the states after the start tell that problem again. */
const outranked: ReadonlySet<HostProblem["code"]> = new Set([
  "HOST_DRIVER_LIBRARY_MISMATCH",
  "HOST_FABRIC_NOT_READY",
  "HOST_GPU_LOST",
  "HOST_GPU_NOT_READY",
  "HOST_GPU_UNSUPPORTED_BY_DRIVER",
  "HOST_MIG_EMPTY",
  "HOST_NO_DEVICES",
  "HOST_NO_LIBCUDA",
  "HOST_NO_UVM",
  "HOST_NVML_FAILED",
  "HOST_SMI_FAILED",
  "HOST_SMI_GARBAGE",
  "HOST_SMI_TIMEOUT",
]);

async function proved(facts: HostFacts, io: HostIo): Promise<HostFacts> {
  const { nvidia } = facts;
  if (nvidia == null) return facts;
  const bus = boundGpus(io);
  const found = nvidia.gpus.length > 0 ? [] : (readProcNvidia(io, nvidia.driver, bus).gpus ?? []);
  const { gpus } = await completeGpus(found, bus, null);
  return withBrokenStates({
    ...facts,
    nvidia: { ...nvidia, starts: true, gpus: [...nvidia.gpus, ...gpus] },
    problems: facts.problems.filter(({ code }) => !outranked.has(code)),
  });
}

/** Why a program of this process, with the libcuda that its loader finds, does not start. */
function ownProblem(start: Start, io: HostIo): HostProblem | null {
  if ("devices" in start) return null;
  const { call, code, library = cudaLibraries[0] } = start;
  // A program may name another place for a libcuda that the loader does not find.
  if (code === "unloadable" && ownFolders(io.env.LD_LIBRARY_PATH, io).length === 0) return null;
  const told =
    code === 34
      ? `${library} is the toolkit's stub: ${call} fails with 34 CUDA_ERROR_STUB_LIBRARY`
      : code === "unloadable"
        ? "the libcuda.so.1 that the loader finds first cannot be loaded"
        : `${failureOf(start, cudaFailures)?.message ?? `${call} fails with ${code}`}, in ${library}`;
  return {
    code: "HOST_CUDA_FAILED",
    message: `programs of this process get no CUDA: ${told}`,
    fix: "take the folder of that libcuda out of LD_LIBRARY_PATH or /etc/ld.so.conf.d: the driver's own must be first",
  };
}

interface CudaFailure extends Failure {
  /** Problems of the facts that name the cause. */
  readonly named: readonly HostProblem["code"][];
  readonly fix: (nvidia: NvidiaFacts) => string;
  /** The cure in a container, where it is another one than on the host. */
  readonly inContainer?: string;
}

const seeKernel = "see dmesg for NVRM and Xid lines";

/** Other codes are about this process: a stub library (34), the daemon of MPS (805 to 810). */
export const cudaFailures: Readonly<Record<number, CudaFailure>> = {
  2: {
    name: "CUDA_ERROR_OUT_OF_MEMORY",
    meaning: "out of memory",
    named: [],
    fix: () =>
      "end the programs with the GPU's memory (nvidia-smi lists them), or give this process more memory",
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
    inContainer: `start the container anew with its GPUs (docker run --gpus all); if it has them, on the host ${seeKernel}`,
  },
  304: {
    name: "CUDA_ERROR_OPERATING_SYSTEM",
    meaning: "a call of the operating system failed",
    named: ["HOST_NO_UVM"],
    fix: () => `run nvidia-modprobe -u -c=0 as root, which makes /dev/nvidia-uvm; else ${seeKernel}`,
    inContainer: `on the host run nvidia-modprobe -u -c=0 as root, and start the container anew with --device /dev/nvidia-uvm; else there ${seeKernel}`,
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
    inContainer:
      "take the image's own libcuda.so.1 away, so that the host's is the only one (ldconfig -p, LD_LIBRARY_PATH); if CUDA fails on the host too, reboot the host",
  },
  804: {
    name: "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
    meaning: "a forward-compatibility package is loaded, and this GPU does not support it",
    named: [],
    fix: () => "remove the package cuda-compat from this host, or its folder from /etc/ld.so.conf.d",
    inContainer:
      "take the package cuda-compat out of the image, or its folder out of /etc/ld.so.conf.d and LD_LIBRARY_PATH",
  },
  999: {
    name: "CUDA_ERROR_UNKNOWN",
    meaning: "unknown error",
    named: ["HOST_NO_UVM"],
    fix: () => `load nvidia_uvm anew (rmmod nvidia_uvm, modprobe nvidia_uvm), or reboot; ${seeKernel}`,
    inContainer: `start the container anew with all its devices (docker run --gpus all, or --device /dev/nvidia-uvm); if CUDA fails on the host too, load nvidia_uvm anew there (rmmod nvidia_uvm, modprobe nvidia_uvm); ${seeKernel}`,
  },
};

function problemOf(start: Start, { nvidia, problems }: HostFacts, io: HostIo): HostProblem | null {
  const fails = (message: string, fix: string): HostProblem => ({ code: "HOST_CUDA_FAILED", message, fix });
  const isNamed = ({ named }: Pick<CudaFailure, "named">) =>
    problems.some(({ code }) => named.includes(code));
  const none = cudaFailures[100];
  if (nvidia == null || none === undefined) return null;
  const cureOf = ({ fix, inContainer }: CudaFailure) => (isContainer(io) && inContainer) || fix(nvidia);
  if ("devices" in start)
    return start.devices > 0 || isNamed(none)
      ? null
      : fails(`${cudaStart.count} finds none of ${nvidia.gpus.length} GPUs`, cureOf(none));
  const failed = failureOf(start, cudaFailures);
  if (failed === null || (failed.row !== null && isNamed(failed.row))) return null;
  const dead = `${seeKernel}; a driver that hangs or crashes needs a reboot`;
  return fails(failed.message, failed.row === null ? dead : cureOf(failed.row));
}
