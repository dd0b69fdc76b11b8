/** The sources of NVIDIA's facts. Codes: nvml.h and cuda.h of CUDA 13.0; those marked "seen" are what a driver 580 answered. */

import { type FactEvidence, type Meaning, meaningOfCode } from "../evidence.ts";
import { nvmlCodes } from "./nvml-reading.ts";

export const nvidiaEvidence: readonly FactEvidence[] = [
  {
    fact: "CUDA: whether it starts, and its version",
    rows: [
      {
        source: "cuInit, where it is asked",
        answer: "0, and as many devices as the bus has",
        means: "value",
      },
      {
        source: "cuInit, where it is asked",
        answer: "an error of the host: 999, 802, …",
        means: "HOST_CUDA_FAILED",
      },
      { source: "cuInit, where it is asked", answer: "34, the toolkit's stub", means: "silent" },
      {
        source: "nvmlSystemGetCudaDriverVersion",
        answer: "a version; more than the driver's branch offers is a compatibility package's",
        codes: [nvmlCodes.success],
        means: "value",
      },
      {
        source: "nvmlSystemGetCudaDriverVersion",
        answer: "6 (seen), 12: no libcuda is found; 13: the one that is found has no functions",
        codes: [nvmlCodes.notFound, nvmlCodes.libraryNotFound, nvmlCodes.functionNotFound],
        means: "HOST_NO_LIBCUDA",
      },
      {
        source: "nvmlSystemGetCudaDriverVersion",
        answer: "another code, or an NVML without it",
        means: "silent",
      },
      { source: "head of nvidia-smi", answer: "a version", means: "value" },
      { source: "head of nvidia-smi", answer: "`N/A`", means: "HOST_NO_LIBCUDA" },
      {
        source: "libcuda.so.1 in the driver's folders",
        answer: "empty, gone, or there with its version alone",
        means: "silent",
      },
      {
        source: "libcuda.so.1 in `LD_LIBRARY_PATH`",
        answer: "the toolkit's stub, of this process alone",
        means: "silent",
      },
      {
        source: "node labels",
        answer: "a version; never more than the driver's branch offers",
        means: "value",
      },
      { source: "ResourceSlices", answer: "a version", means: "value" },
      { source: "the driver's branch, in the tables", answer: "a version", means: "value" },
    ],
  },
  {
    fact: "the cards, and whether they work",
    rows: [
      { source: "nvmlInit", answer: "0, and a list", codes: [nvmlCodes.success], means: "value" },
      {
        source: "nvmlInit",
        answer: "12, 13, or no library that loads",
        codes: [nvmlCodes.libraryNotFound, nvmlCodes.functionNotFound, nvmlCodes.absent],
        means: "silent",
      },
      { source: "nvmlInit", answer: "4", codes: [nvmlCodes.noPermission], means: "HOST_NO_PERMISSION" },
      { source: "nvmlInit", answer: "15", codes: [nvmlCodes.gpuIsLost], means: "HOST_GPU_LOST" },
      {
        source: "nvmlInit",
        answer: "18",
        codes: [nvmlCodes.versionMismatch],
        means: "HOST_DRIVER_LIBRARY_MISMATCH",
      },
      { source: "nvmlInit", answer: "9, 17, 999, another code", means: "HOST_NVML_FAILED" },
      {
        source: "NVML's list",
        answer: "none, and a card is there that may be opened",
        means: "HOST_NO_DEVICES",
      },
      { source: "NVML, of one card", answer: "15", means: "HOST_GPU_LOST" },
      {
        source: "NVML, of one card",
        answer: "999 for compute capability, UUID or memory",
        means: "HOST_NVML_FAILED",
      },
      { source: "NVML, of one card", answer: "999 for the PCI address", means: "silent" },
      { source: "nvidia-smi", answer: "a table", codes: [0], means: "value" },
      {
        source: "nvidia-smi",
        answer: "not there, or it cannot be started (126, 127)",
        codes: [126, 127],
        means: "silent",
      },
      {
        source: "nvidia-smi",
        answer:
          "`No devices were found` (6), `No devices found.` (0), and a card is there that may be opened",
        means: "HOST_NO_DEVICES",
      },
      { source: "nvidia-smi", answer: "`couldn't communicate` (9)", means: "HOST_NVML_FAILED" },
      {
        source: "nvidia-smi",
        answer: "`Driver/library version mismatch`",
        means: "HOST_DRIVER_LIBRARY_MISMATCH",
      },
      { source: "nvidia-smi", answer: "`Insufficient Permissions` (4)", means: "HOST_NO_PERMISSION" },
      {
        source: "nvidia-smi",
        answer: "`couldn't find libnvidia-ml.so` (12), another status",
        means: "HOST_SMI_FAILED",
      },
      { source: "nvidia-smi", answer: "nothing in time", means: "HOST_SMI_TIMEOUT" },
      {
        source: "nvidia-smi, in one column",
        answer: "`[Unknown Error]` for compute capability, UUID or memory",
        means: "HOST_NVML_FAILED",
      },
      { source: "nvidia-smi, in one column", answer: "`[Unknown Error]` for anything else", means: "silent" },
      { source: "/proc/driver/nvidia/gpus", answer: "empty", means: "silent" },
      {
        source: "/proc/driver/nvidia/gpus",
        answer: "a card that the driver does not list",
        means: "HOST_NO_DEVICES",
        inContainer: "silent",
      },
      { source: "/sys/bus/pci/devices", answer: "empty", means: "silent" },
      {
        source: "/sys/bus/pci/devices",
        answer: "a card that the driver does not list",
        means: "HOST_NO_DEVICES",
        inContainer: "silent",
      },
    ],
  },
  {
    fact: "what a program may open",
    rows: [
      {
        source: "/dev/nvidiactl",
        answer: "absent",
        means: "silent",
        inContainer: "HOST_CONTAINER_WITHOUT_DEVICES",
      },
      { source: "/dev/nvidiactl", answer: "refused by open, where NVML fails", means: "HOST_NO_PERMISSION" },
      {
        source: "/dev/nvidia0",
        answer: "absent, where the driver lists no card",
        means: "HOST_NO_DEVICES",
        inContainer: "HOST_CONTAINER_WITHOUT_DEVICES",
      },
      {
        source: "/dev/nvidia0",
        answer: "refused by open, where the driver lists no card",
        means: "HOST_NO_PERMISSION",
      },
      { source: "/dev/nvidia-uvm", answer: "absent", means: "silent", inContainer: "HOST_NO_UVM" },
      { source: "/dev/nvidia-uvm", answer: "absent, with the capability `utility` alone", means: "silent" },
      { source: "/dev/nvidia-uvm", answer: "refused by open", means: "HOST_NO_PERMISSION" },
    ],
  },
  {
    fact: "the driver's version",
    rows: [
      { source: "/proc/driver/nvidia/version", answer: "a version", means: "value" },
      { source: "/proc/driver/nvidia/version", answer: "absent", means: "silent" },
      { source: "/proc/driver/nvidia/version", answer: "not readable", means: "silent" },
      { source: "/sys/module/nvidia/version", answer: "a version", means: "value" },
      { source: "NVML or nvidia-smi", answer: "a version", means: "value" },
    ],
  },
  {
    fact: "the GPUs that NVLink joins, where several are asked for",
    rows: [
      { source: "nvmlDeviceGetP2PStatus, of NVLink", answer: "status 0", means: "value" },
      { source: "nvmlDeviceGetP2PStatus, of NVLink", answer: "status 1 to 5: no link", means: "value" },
      {
        source: "nvmlDeviceGetP2PStatus, of NVLink",
        answer: "status 6, another code, or an NVML without it",
        means: "unknown",
      },
      { source: "nvidia-smi topo -m", answer: "`NV12`", means: "value" },
      { source: "nvidia-smi topo -m", answer: "`SYS`, `NODE`, `PHB`, `PXB`, `PIX`: no link", means: "value" },
      { source: "nvidia-smi topo -m", answer: "another word, or no row", means: "unknown" },
    ],
  },
  {
    fact: "the NUMA node, where it is asked for",
    rows: [
      { source: "numa_node of the PCI device", answer: "a number", means: "value" },
      { source: "numa_node of the PCI device", answer: "-1: the kernel names no node", means: "value" },
      { source: "numa_node of the PCI device", answer: "absent, or something else", means: "unknown" },
    ],
  },
  {
    fact: "a card under WSL",
    rows: [
      { source: "/dev/dxg", answer: "alone, without the files of NVIDIA's Windows driver", means: "none" },
      {
        source: "NVML of a Linux package",
        answer: "9, without the files of NVIDIA's Windows driver",
        means: "none",
      },
      {
        source: "the files of NVIDIA's Windows driver",
        answer: "there, and neither NVML nor nvidia-smi",
        means: "HOST_NVML_FAILED",
      },
    ],
  },
];

/** The meaning of a code that a function of NVML, or nvidia-smi as its status, answers with; null for another one. */
export function meaningOf(source: string, code: number): Meaning | null {
  return meaningOfCode(nvidiaEvidence, source, code);
}
