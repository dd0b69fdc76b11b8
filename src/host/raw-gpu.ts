/** A GPU as one source tells it, before the other sources and the tables fill the gaps. */

import type { GpuFacts, HostProblem, MigInstance } from "./facts.ts";

export interface RawGpu {
  readonly index: number;
  readonly uuid: string | null;
  readonly name: string | null;
  readonly compute: string | null;
  readonly pci: string | null;
  readonly bus: string | null;
  readonly memoryMiB: number | null;
  readonly mig: readonly MigInstance[];
  readonly use: GpuFacts["use"];
}

/** What one source says about driver and GPUs. */
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

export const emptyUse: GpuFacts["use"] = { processes: null, memoryMiB: null };

export const mebibyte = 1024 * 1024;
