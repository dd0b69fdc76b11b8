import { describe, expect, it } from "vitest";
import { parseSmiComplaint, parseSmiCsv, parseSmiHeader } from "../../../src/host/nvidia/nvidia-smi.ts";
import { formatCuda, libraryVersion } from "../../../src/host/nvidia/nvml.ts";
import { parseProcDriver, parseProcGpu, parseSysDriver } from "../../../src/host/nvidia/proc-reading.ts";
import {
  parseDeviceTree,
  parseLibraryTarget,
  parseTegraName,
} from "../../../src/host/nvidia/surroundings.ts";

describe("kernel module", () => {
  it("takes the number after the words, not the first in the file", () => {
    const gcc = "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1)\n";
    const version = (line: string) => parseProcDriver(`${line}\n${gcc}`)?.version;
    expect(version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  418.56  Fri Mar 15")).toBe("418.56");
    expect(version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build")).toBe(
      "580.95.05",
    );
    expect(version("NVRM version: NVIDIA UNIX aarch64 Kernel Module  550.120  Thu")).toBe("550.120");
    expect(parseProcDriver(gcc)).toBeNull();
    expect(parseProcDriver(`NVRM version: NVIDIA UNIX x86_64 Kernel Module  \n${gcc}`)).toBeNull();
  });

  it("keeps an L4T release apart from a driver version", () => {
    const line = "NVRM version: NVIDIA UNIX Kernel Module for aarch64  34.1.1  Release Build  \n";
    expect(parseProcDriver(line)).toEqual({ version: null, flavor: null, l4t: "34.1.1" });
    const open = "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  540.4.0  Release Build\n";
    expect(parseProcDriver(open)).toEqual({ version: "540.4.0", flavor: "open", l4t: null });
  });

  it("takes /sys/module/nvidia/version only when it is a version alone", () => {
    expect(parseSysDriver("580.95.05\n")).toBe("580.95.05");
    expect(parseSysDriver("(null)\n")).toBeNull();
  });
});

describe("/proc/driver/nvidia/gpus", () => {
  it("reads tabs, an unread uuid and an excluded GPU", () => {
    const text =
      "Model: \t\t Unknown\nGPU UUID: \t GPU-????????-????\nBus Location: \t 0000:0c:00.0\nGPU Excluded:\t Yes\n";
    expect(parseProcGpu(text)).toEqual({
      bus: "00000000:0C:00.0",
      name: null,
      uuid: null,
      minor: null,
      excluded: true,
    });
  });
});

describe("NVML values", () => {
  it("strip the CUDA major before the library's version", () => {
    expect(libraryVersion("12.550.54.15")).toBe("550.54.15");
    expect(libraryVersion("450.80.02")).toBe("450.80.02");
    expect(libraryVersion("13.580.142")).toBe("580.142");
    expect(libraryVersion("N/A")).toBeNull();
  });

  it("write CUDA versions", () => {
    expect([12080, 13000, 9020, 0, null].map(formatCuda)).toEqual(["12.8", "13.0", "9.2", null, null]);
  });
});

describe("nvidia-smi", () => {
  it("reads values with remarks behind them, and the newer words before the older", () => {
    const text =
      "Driver Version : 610.57.04 [Deprecated; will be removed in CUDA 14.0. Use KMD Version instead]\nCUDA Version : 13.3 [Deprecated]\n";
    expect(parseSmiHeader(text)).toMatchObject({ program: null, driver: "610.57.04", cuda: "13.3" });
    expect(parseSmiHeader(`${text}KMD Version : 611.00\nCUDA UMD Version : 13.4\n`)).toMatchObject({
      driver: "611.00",
      cuda: "13.4",
    });
  });

  it("reads a CUDA version as major and minor, and nothing else as one", () => {
    const cuda = (text: string) => parseSmiHeader(`Driver Version: 550.54.15 CUDA Version: ${text}`)?.cuda;
    expect(["12.4", "9.2", "12.4.1", "12", "ERR!", "580.9999.1"].map(cuda)).toEqual([
      "12.4",
      "9.2",
      null,
      null,
      null,
      null,
    ]);
  });

  it("treats every spelling of no value as none, and keeps errors apart", () => {
    const cells = [
      "[N/A]",
      "N/A",
      "[Not Supported]",
      "ERR!",
      "[Unknown Error]",
      "[Requested functionality has been deprecated]",
    ];
    for (const cell of cells) {
      const gpu = parseSmiCsv(`index, name, compute_cap, memory.total [MiB]\n0, X, ${cell}, ${cell}\n`)
        ?.gpus[0];
      expect(gpu).toMatchObject({ index: 0, compute: null, memoryMiB: null });
      expect(gpu?.broken.length).toBe(/error|err!/i.test(cell) ? 2 : 0);
    }
  });

  it("reports rows that are cut", () => {
    expect(parseSmiCsv("index, name, uuid\n0, A, GPU-0a\n1, B\n")).toMatchObject({
      gpus: [{ index: 0 }],
      strays: ["1, B"],
    });
  });

  it("knows the GPU of a complaint", () => {
    const lost =
      "Unable to determine the device handle for GPU 0000:02:00.0: GPU is lost.  Reboot the system to recover this GPU\n";
    expect(parseSmiComplaint(lost, null, false)).toMatchObject({
      code: "HOST_GPU_LOST",
      message: "GPU 00000000:02:00.0 has fallen off the bus",
    });
    const other =
      "Unable to determine the device handle for GPU0000:98:00.0: Unknown Error\nNo devices were found\n";
    expect(parseSmiComplaint(other, null, false)).toMatchObject({
      code: "HOST_NVML_FAILED",
      message: "GPU 00000000:98:00.0 does not answer: Unknown Error",
    });
  });
});

it("reads the library's version from its link", () => {
  expect(parseLibraryTarget("libnvidia-ml.so.570.124.06")).toBe("570.124.06");
  expect(parseLibraryTarget("/nix/store/x-nvidia-x11-570.124/lib/libcuda.so.570.124")).toBe("570.124");
  expect(parseLibraryTarget("libcuda.so")).toBeNull();
});

it("knows a Tegra by its device tree and by its GPU's name", () => {
  expect(parseDeviceTree("nvidia,p3768-0000+p3767-0003\0nvidia,tegra234\0")?.compute).toBe("8.7");
  expect(parseDeviceTree("raspberrypi,4-model-b\0brcm,bcm2711\0")).toBeNull();
  expect(parseTegraName("Orin (nvgpu)")?.compute).toBe("8.7");
  expect(parseTegraName("NVIDIA Thor")?.compute).toBe("11.0");
  expect(parseTegraName("NVIDIA GB10")).toBeNull();
});
