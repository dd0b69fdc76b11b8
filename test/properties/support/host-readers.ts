/** The readers of a host's own texts, each with texts that are hard for it. */

import { hasRuntime } from "../../../src/host/container-runtime.ts";
import { parseCpuinfo } from "../../../src/host/cpu/cpuinfo.ts";
import { kernelNumber } from "../../../src/facts/fact-grammar.ts";
import {
  parseSmiComplaint,
  parseSmiCsv,
  parseSmiHeader,
  parseSmiList,
  unknownField,
} from "../../../src/host/nvidia/nvidia-smi.ts";
import { parseSmiLinks } from "../../../src/host/nvidia/smi-topology.ts";
import { formatBus } from "../../../src/host/pci.ts";
import { parseProcDriver, parseProcGpu, parseSysDriver } from "../../../src/host/nvidia/proc-reading.ts";
import {
  parseDeviceTree,
  parseLibraryTarget,
  parseTegraRelease,
} from "../../../src/host/nvidia/surroundings.ts";
import { numbered, type Reader, repeated } from "./reader.ts";

export const hostReaders: Readonly<Record<string, Reader>> = {
  cpuinfo: {
    read: (text) =>
      ["amd64", "arm64", "ppc64le", "riscv64"].map((architecture) => parseCpuinfo(text, architecture)),
    texts: {
      processors: numbered((index) => `processor : ${index}\nflags : fpu sse\n`),
      "processors that differ": numbered(
        (index) => `flags : k${index}\nisa : rv64i_k${index}\nFeatures : l${index}\ncpu : POWER${index}\n`,
      ),
      flags: numbered((index) => `k${index} `, "flags : "),
      isa: repeated("_a", "isa : rv64i", "!"),
      letters: repeated("g", "isa : rv64", "!"),
      ":": repeated(":\n"),
      spaces: repeated(" ", "flags :", "x"),
    },
  },
  "nvidia-smi": {
    read: (text) => {
      parseSmiCsv(text);
      parseSmiCsv(`name, index\n${text}`);
      parseSmiHeader(text);
      parseSmiList(text);
      parseSmiLinks(text);
      parseSmiComplaint(text, null, false);
      unknownField(text);
    },
    texts: {
      "[": repeated("["),
      ",": repeated(","),
      "name,": repeated("name,"),
      rows: repeated("a, b\n"),
      spaces: repeated(" ", "a", "b"),
      "spaces before a unit": repeated(" ", "name, 1", "b\n"),
      "rows of a matrix": repeated("GPU1 X\n", `GPU0${" GPU1".repeat(500)}\n`),
      "GPU 0: ": repeated("GPU 0: "),
      " (UUID: GPU-": repeated(" (UUID: GPU-", "GPU 0: a"),
      "spaces before MIG": repeated(" ", "", "MIG a"),
      "NVIDIA-SMI": repeated("NVIDIA-SMI "),
      "NVIDIA-SMI and spaces": repeated(" ", "NVIDIA-SMI", "x"),
      "CUDA Version": repeated("CUDA Version ", "NVIDIA-SMI 1.1 "),
      "device handle for GPU": repeated("device handle for GPU "),
      "a bus of colons": repeated("0:", "device handle for GPU ", "x"),
      "Failed to initialize NVML:": repeated("Failed to initialize NVML: "),
      "1.": repeated("1.", "NVIDIA-SMI "),
      'Field "': repeated('Field "'),
    },
  },
  "the kernel's files": {
    read: (text) => {
      parseProcDriver(text);
      parseSysDriver(text);
      parseProcGpu(text);
      parseTegraRelease(text);
      parseDeviceTree(text);
      parseLibraryTarget(text);
      kernelNumber(text);
      hasRuntime(text, "nvidia");
      formatBus(text);
    },
    texts: {
      "NVRM version:": repeated("NVRM version: Kernel Module for "),
      "NVRM and digits": repeated("1.", "NVRM version: Kernel Module ", "x"),
      spaces: repeated(" ", "NVRM version: Kernel Module", "x"),
      lines: repeated("\n", "1.2", "x"),
      R35: repeated("# R35 (release), REVISION: ", ""),
      tegra: repeated("nvidia,tegra\0"),
      ":": repeated("a:\n"),
      "libcuda.so.": repeated("/libcuda.so.1.1"),
      "[": repeated("["),
    },
  },
};
