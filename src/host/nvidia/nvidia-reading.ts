/** A GPU as one source tells it, before the other sources and the tables fill the gaps. */

import type { GpuFacts, HostProblem } from "../facts.ts";

export type RawGpu = Omit<GpuFacts, "class" | "integrated">;

/** Driver and GPUs by one source. */
export interface NvidiaReading {
  /** Word for `sources`: `nvml`, `nvidia-smi`, a path. */
  readonly source: string;
  /** As the source prints it; on WSL2 the number of the Windows driver. */
  readonly driver: string | null;
  readonly library: string | null;
  readonly cuda: string | null;
  /** null when this source could not list the GPUs. */
  readonly gpus: readonly RawGpu[] | null;
  readonly problems: readonly HostProblem[];
}

export const mebibyte = 1024 * 1024;
