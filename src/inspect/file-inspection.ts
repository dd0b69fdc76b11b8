/** What was found in one file: plain data, as it goes between threads and into the cache. */

import type { Checksums } from "./checksums.ts";
import type { CpuCode } from "./cpu/cpu-code.ts";
import type { ElfDynamic } from "./elf/dynamic.ts";
import type { GpuCode } from "./gpu/gpu-inspection.ts";

export interface FileInspection {
  /** Bytes. */
  readonly size: number;
  readonly checksums: Checksums;
  readonly program: ProgramFacts | null;
  readonly cpu: CpuCode | null;
  readonly gpu: GpuCode | null;
  /** What could not be read of it. */
  readonly unopened: readonly string[];
}

export interface ProgramFacts extends ElfDynamic {
  /** `x86_64`, `aarch64`, …, or `machine 243`. */
  readonly machine: string;
  /** psABI level that the loader enforces. */
  readonly neededLevel: string | null;
  readonly kernel: string | null;
}
