/** NVIDIA's GPUs as units of containers. In MIG mode a GPU is used through its instances only. */

import type { GpuFacts, MigInstance } from "../../host/facts.ts";
import { unknownGpu, unknownUse } from "../../host/no-facts.ts";
import { narrowGpus } from "../../host/nvidia/visible-devices.ts";

type Part = { readonly gpu: GpuFacts; readonly mig: MigInstance | null };

export const nvidiaGpus = {
  // Every version of nvidia-ctk writes these names into its CDI file.
  parts: (gpu: GpuFacts) =>
    gpu.mig?.map((mig, instance) => ({
      gpu: { ...gpu, mig: [mig] },
      mig,
      name: `${gpu.index}:${instance}`,
    })) ?? [{ gpu, mig: null, name: String(gpu.index) }],
  counted: (gpus: readonly GpuFacts[]) => gpus,
  join: (gpu: GpuFacts, parts: readonly Part[]) => ({
    ...gpu,
    ...(gpu.mig && { mig: parts.flatMap(({ mig }) => mig ?? []) }),
  }),
  named: (gpus: readonly GpuFacts[], list: string) => {
    const named = narrowGpus(gpus, list);
    return ({ gpu, mig }: Part) =>
      named.some(
        (each) =>
          each.index === gpu.index && (mig === null || each.mig?.some(({ uuid }) => uuid === mig.uuid)),
      );
  },
  unknown: unknownGpu,
  code: ({ compute }: GpuFacts) => compute,
  generation: ({ compute }: GpuFacts) => Number(compute ?? 0),
  kind: ({ compute, name, class: own, memoryMiB }: GpuFacts, mig: MigInstance | null) => [
    ...[compute, name, own, memoryMiB],
    mig?.profile ?? null,
  ],
  part: (_: GpuFacts, mig: MigInstance | null) => (mig === null ? null : `MIG ${mig.profile}`),
  use: ({ use }: GpuFacts) => use,
  idle: (gpu: GpuFacts) => ({ ...gpu, use: unknownUse }),
  file: ({ index }: GpuFacts) => `/dev/nvidia${index}`,
};
