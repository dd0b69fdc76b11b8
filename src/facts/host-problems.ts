/** The problems of real machines: a function for each state, which says what happened and how to cure it. */

import { count } from "../io/table.ts";
import type { AmdGpuFacts, GpuFacts, HostProblem } from "./facts.ts";

/** A reason that the tables know, and its cure. */
export interface KnownCause {
  readonly reason: string;
  readonly fix: string;
}

export function because(cause: KnownCause | null): string {
  return cause === null ? "" : `: ${cause.reason}`;
}

export function libraryMismatch(driver: string | null, library: string | null): HostProblem {
  return {
    code: "HOST_DRIVER_LIBRARY_MISMATCH",
    message: `kernel module ${driver ?? "of unknown version"} and driver library ${library ?? "of another version"} are loaded together`,
    fix: "reboot (or unload and load the nvidia modules), so that the installed driver's module is the loaded one",
  };
}

export function noDevices(
  driver: string | null,
  devices: readonly string[],
  cause: KnownCause | null = null,
): HostProblem {
  const known = devices.length === 0 ? "" : `, although the PCI bus has ${devices.join(", ")}`;
  return {
    code: "HOST_NO_DEVICES",
    message: `driver ${driver ?? "(unknown version)"} is loaded and lists no GPU${known}${because(cause)}`,
    fix:
      cause?.fix ??
      "see dmesg for NVRM lines (RmInitAdapter failed, GSP firmware, power cables; Xid 78: a vGPU guest needs a driver of its host's branch), then power-cycle the machine",
  };
}

export function gpuLost(where: string): HostProblem {
  return {
    code: "HOST_GPU_LOST",
    message: `GPU ${where} has fallen off the bus`,
    fix: "see dmesg for Xid 79, power-cycle the machine; if it comes back, check power, cooling and the PCIe slot",
  };
}

export function gpuUnreadable(where: string, reason: string): HostProblem {
  return {
    code: "HOST_NVML_FAILED",
    message: `GPU ${where} does not answer: ${reason}`,
    fix: "see dmesg for NVRM and Xid lines, then reset the GPU (nvidia-smi --gpu-reset) or reboot",
  };
}

export function nvmlFailed(what: string, container: boolean): HostProblem {
  return {
    code: "HOST_NVML_FAILED",
    message: `NVML cannot be used: ${what}`,
    // A container loses its devices when systemd reloads and rewrites the device cgroup (NVIDIA/nvidia-container-toolkit#48).
    fix: container
      ? "restart the container: its access to the devices was lost or never given"
      : "run nvidia-smi and see dmesg for NVRM lines; reload the nvidia modules or reboot",
  };
}

export function fieldUnknown(gpu: string, fields: readonly string[]): HostProblem {
  return {
    code: "HOST_GPU_FIELD_UNKNOWN",
    message: `GPU ${gpu} does not tell: ${fields.join(", ")}`,
    fix: "update the NVIDIA driver; if the GPU is new, its compute capability can be given in a facts file (--host)",
  };
}

export function containerWithoutDevices(driver: string | null): HostProblem {
  return {
    code: "HOST_CONTAINER_WITHOUT_DEVICES",
    message: `inside a container without /dev/nvidiactl; the host's driver is ${driver ?? "of unknown version"}`,
    fix: "start the container with its GPUs: docker run --gpus all (or --device nvidia.com/gpu=all)",
  };
}

export function noneGiven(cards: number): HostProblem {
  return {
    ...containerWithoutDevices(null),
    message: `${cards === 0 ? "no GPU" : `${count(cards, "GPU")} in the machine, none`} given to this container`,
  };
}

/** For a container that sees the GPUs and cannot start CUDA. */
export function noCompute(): HostProblem {
  return {
    code: "HOST_CONTAINER_WITHOUT_DEVICES",
    message: "this container was not given compute, its CUDA says nothing of the host",
    fix: "start it with NVIDIA_DRIVER_CAPABILITIES=compute,utility",
  };
}

/** For a driver that answers and whose libcuda is missing, empty or a link to nothing. */
export function noLibcuda(): HostProblem {
  return {
    code: "HOST_NO_LIBCUDA",
    message: "the driver answers and finds no libcuda.so.1 that can be loaded: no CUDA program starts",
    fix: "install the driver's compute libraries in the driver's own version (Debian: libcuda1; Ubuntu: libnvidia-compute-BRANCH; RHEL, SUSE: nvidia-driver-cuda-libs, nvidia-compute-G06)",
  };
}

export function noPermission(what: string): HostProblem {
  return {
    code: "HOST_NO_PERMISSION",
    message: `no permission for ${what}`,
    fix: "run as a user that may open /dev/nvidia* (groups video or render), or as root",
  };
}

export function smiTimeout(seconds: number): HostProblem {
  return {
    code: "HOST_SMI_TIMEOUT",
    message: `nvidia-smi gave no answer in ${seconds} s and was killed`,
    fix: "see dmesg for NVRM and Xid lines; a driver that hangs needs a reboot",
  };
}

export function smiFailed(status: number | null, output: string): HostProblem {
  return {
    code: "HOST_SMI_FAILED",
    message: `nvidia-smi ended with ${status === null ? "a signal" : `status ${status}`}${quote(output)}`,
    fix: "run nvidia-smi by hand; reinstall the driver's user-space part if it crashes",
  };
}

export function smiGarbage(output: string): HostProblem {
  return {
    code: "HOST_SMI_GARBAGE",
    message: `nvidia-smi printed something else than its table${quote(output)}`,
    fix: "run nvidia-smi by hand, and check that the one in PATH is NVIDIA's",
  };
}

export function l4tNumber(l4t: string): HostProblem {
  return {
    code: "HOST_UNSUPPORTED",
    message: `this Jetson's driver names the L4T release ${l4t} and no driver version`,
    fix: "upgrade to JetPack 6 or newer, whose driver has a version",
  };
}

export function foreignDriver(system: string): HostProblem {
  return {
    code: "HOST_UNSUPPORTED",
    message: `the NVIDIA driver of ${system} has no Linux version number, so its images cannot be judged`,
    fix: "on Windows run imgmatch inside WSL2; elsewhere on a Linux host",
  };
}

/** For facts that the labels of a Kubernetes node do not prove. */
export function labelsOpen(message: string, fix: string): HostProblem {
  return { code: "HOST_LABELS_INCOMPLETE", message, fix };
}

/** For two sources of which at most one is true. `what` is the fact; `one` and `other` are sentences. */
export function sourcesDisagree(what: string, one: string, other: string): HostProblem {
  return {
    code: "HOST_SOURCES_DISAGREE",
    message: `${what}: ${one}, ${other}`,
    fix: "restart the writer of the older source, remove the older source if nothing writes it any more, or run imgmatch probe --json on the node and pass its output",
  };
}

/** True for facts from labels. A missing label proves nothing. */
export function isLabelled(problems: readonly HostProblem[]): boolean {
  return problems.some(({ code }) => code === "HOST_LABELS_INCOMPLETE");
}

export function unreadable(path: string, why: string): HostProblem {
  return {
    code: "HOST_UNREADABLE",
    message: `${path} ${why}`,
    fix: "mount /proc into this container or sandbox, or give the facts in a file (--host)",
  };
}

/** `0 (NVIDIA H100 80GB HBM3, 00000000:17:00.0)`. */
export function gpuLabel({
  index,
  name,
  bus,
}: Pick<GpuFacts | AmdGpuFacts, "index" | "name" | "bus">): string {
  const details = [name, bus].filter((part) => part !== null);
  return details.length === 0 ? `${index}` : `${index} (${details.join(", ")})`;
}

/** The first line of an output, printable and short. */
function quote(output: string): string {
  const line = output.split("\n").find((each) => each.trim() !== "");
  if (line === undefined) return " and no text";
  const clean = line.replace(/[^\x20-\x7e]/g, "?").trim();
  return `: "${clean.length > 100 ? `${clean.slice(0, 100)}…` : clean}"`;
}
