/** Hosts that exist only to ask the rules: one GPU, one driver, one CUDA version. */

import type { ComputeCapability } from "../../hardware/compute-capability.ts";
import type { GpuClass } from "../../hardware/gpu-class.ts";
import { parseCudaVersion, parseDriverVersion } from "../../hardware/driver-version.ts";
import type { HostView, NvidiaView } from "../../resolve/host-view.ts";

/** In the order of the tables. */
export const gpuClasses = [
  "datacenter",
  "workstation",
  "geforce",
  "tegra",
  "unknown",
] as const satisfies readonly GpuClass[];
export const scales = ["linux", "wsl", "l4t"] as const satisfies readonly NvidiaView["scale"][];

export interface SyntheticGpu {
  readonly scale: NvidiaView["scale"];
  readonly module?: NvidiaView["module"];
  readonly class?: GpuClass;
  readonly compute?: ComputeCapability | null;
  readonly brand?: string | null;
}

export function nvidiaView(driver: string, cuda: string | null, gpu: SyntheticGpu): NvidiaView {
  return {
    driver: parseDriverVersion(driver),
    driverText: driver,
    module: gpu.module ?? null,
    cuda: cuda === null ? null : parseCudaVersion(cuda),
    scale: gpu.scale,
    gpus: [
      {
        label: "GPU 0",
        compute: gpu.compute ?? null,
        class: gpu.class ?? "datacenter",
        brand: gpu.brand ?? null,
      },
    ],
  };
}

export function hostView(nvidia: NvidiaView | null, change: Partial<HostView> = {}): HostView {
  return {
    platform: "linux/amd64",
    kernel: null,
    cpu: { model: null, level: null },
    features: null,
    unknown: new Set(),
    nvidia,
    runtime: null,
    broken: [],
    others: [],
    ...change,
  };
}
