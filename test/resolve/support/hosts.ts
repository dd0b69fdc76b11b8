/** Host facts for tests: a healthy machine that each test changes in one place. */

import type { AmdGpuFacts, GpuFacts, HostFacts, NvidiaFacts } from "../../../src/facts/facts.ts";
import { unknownGpu } from "../../../src/facts/no-facts.ts";

export const avx512 = ["avx512bw", "avx512cd", "avx512dq", "avx512f", "avx512vl"];
export const levelV3 = [
  "abm",
  "avx",
  "avx2",
  "bmi1",
  "bmi2",
  "cx16",
  "f16c",
  "fma",
  "lahf_lm",
  "movbe",
  "pni",
  "popcnt",
];

export const h100 = gpu({ name: "NVIDIA H100 80GB HBM3", compute: "9.0" });
export const a100 = gpu({ name: "NVIDIA A100-SXM4-80GB", compute: "8.0" });
export const rtx4090 = gpu({ name: "NVIDIA GeForce RTX 4090", compute: "8.9", class: "geforce" });
export const v100 = gpu({ name: "Tesla V100-SXM2-32GB", compute: "7.0" });
export const orin = gpu({ name: "Orin (nvgpu)", compute: "8.7", class: "tegra", integrated: true });

export function gpu(change: Partial<GpuFacts> = {}): GpuFacts {
  return {
    ...unknownGpu(0),
    class: "datacenter",
    integrated: false,
    use: { processes: 0, memoryMiB: 0 },
    ...change,
  };
}

export function cpuHost(change: Partial<HostFacts> = {}): HostFacts {
  return {
    schemaVersion: 1,
    platform: "linux/amd64",
    kernel: "6.8.0",
    cpu: {
      vendor: "GenuineIntel",
      model: "Intel(R) Xeon(R)",
      features: [...levelV3, ...avx512].sort(),
      level: "x86-64-v4",
    },
    nvidia: null,
    runtime: { nvidia: "cdi" },
    problems: [],
    sources: { "cpu.features": "/proc/cpuinfo" },
    ...change,
  };
}

/** A host with these GPUs under a driver; `cuda` is what the driver reports, null where it does not. */
export function gpuHost(
  gpus: readonly GpuFacts[],
  driver: string | null,
  cuda: string | null = null,
  change: Partial<HostFacts> & { readonly nvidiaChange?: Partial<NvidiaFacts> } = {},
): HostFacts {
  const { nvidiaChange, ...rest } = change;
  return cpuHost({
    nvidia: {
      driver,
      // Nothing else drives Blackwell.
      module: gpus.some(({ compute }) => Number(compute) >= 10) ? "open" : "proprietary",
      library: driver,
      cuda,
      gpus: gpus.map((facts, index) => ({ ...facts, index })),
      ...nvidiaChange,
    },
    sources: { "cpu.features": "/proc/cpuinfo", "nvidia.driver": "/proc/driver/nvidia/version" },
    ...rest,
  });
}

export const mi300x = amdGpu({ name: "AMD Instinct MI300X", target: "gfx942", sramecc: true });
export const mi210 = amdGpu({ name: "AMD Instinct MI210", target: "gfx90a", sramecc: true });
export const rx7900 = amdGpu({ name: "AMD Radeon RX 7900 XTX", target: "gfx1100", sramecc: false });
export const ryzen = amdGpu({ target: "gfx1036", sramecc: false, integrated: true });

export function amdGpu(change: Partial<AmdGpuFacts> = {}): AmdGpuFacts {
  return {
    ...{ index: 0, uuid: null, name: null, target: null, sramecc: null, pci: null, bus: null, render: null },
    ...{ memoryMiB: null, partition: null, integrated: false },
    ...change,
  };
}

/** A host with these AMD GPUs under the kernel's own driver, or AMD's of this version. */
export function amdHost(
  gpus: readonly AmdGpuFacts[],
  driver: string | null = null,
  change: Partial<HostFacts> = {},
): HostFacts {
  const listed = gpus.map((facts, index) => ({
    ...facts,
    index,
    uuid: `GPU-${`${index}`.padStart(16, "0")}`,
    bus: `0000:${(index + 1).toString(16).padStart(2, "0")}:00.0`,
    render: `/dev/dri/renderD${128 + index}`,
  }));
  return cpuHost({ amd: { driver, gpus: listed }, ...change });
}
