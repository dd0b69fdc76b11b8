/** AMD's GPUs as units of containers. A partition of a card is a GPU. */

import type { AmdGpuFacts } from "../../host/facts.ts";
import { narrowAmdGpus } from "../../host/amd/amd-visible-devices.ts";
import { unknownAmdGpu, unknownUse } from "../../host/no-facts.ts";
import { amdGpusOf } from "../../resolve/amd-view.ts";

export const amdGpus = {
  parts: (gpu: AmdGpuFacts) => [{ gpu, mig: null, name: String(gpu.index) }],
  counted: (gpus: readonly AmdGpuFacts[]) => amdGpusOf({ gpus }).judged,
  join: (gpu: AmdGpuFacts) => gpu,
  named: (gpus: readonly AmdGpuFacts[], list: string) => {
    const named = narrowAmdGpus(gpus, list);
    return ({ gpu }: { readonly gpu: AmdGpuFacts }) => named.includes(gpu);
  },
  unknown: unknownAmdGpu,
  code: ({ target }: AmdGpuFacts) => target,
  // Targets have no order: there the memory decides.
  generation: () => 0,
  kind: ({ target, sramecc, name, memoryMiB, partition, integrated }: AmdGpuFacts) => [
    ...[target, sramecc, name, memoryMiB, partition, integrated],
  ],
  part: ({ partition }: AmdGpuFacts) => partition,
  // The driver does not tell it.
  use: () => unknownUse,
  idle: (gpu: AmdGpuFacts) => gpu,
  file: ({ render }: AmdGpuFacts) => render,
};
