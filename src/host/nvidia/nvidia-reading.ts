/** Driver and GPUs by one source, before the gaps are filled by other sources and the tables. */

import type { FactsPart, GpuFacts, HostProblem, NvidiaFacts } from "../../facts/facts.ts";

export interface NvidiaReading {
  /** Word for `sources`: `nvml`, `nvidia-smi`, a path. */
  readonly source: string;
  /** As the source prints it; on WSL2 the number of the Windows driver. */
  readonly driver: string | null;
  readonly library: string | null;
  readonly cuda: string | null;
  /** Class and integration are open: no source tells them. null when this source could not list the GPUs. */
  readonly gpus: readonly GpuFacts[] | null;
  readonly problems: readonly HostProblem[];
  /** The driver looked for libcuda, to tell its CUDA version, and found none that can be loaded. */
  readonly lacksCuda?: boolean;
  /** As {@link NvidiaFacts} has it. */
  readonly ready?: boolean;
}

/** The facts are null when there is neither an NVIDIA device nor a driver. */
export type NvidiaPart = FactsPart<NvidiaFacts | null>;
