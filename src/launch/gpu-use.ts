/** Whether somebody uses a GPU. */

import type { GpuFacts } from "../host/facts.ts";

/** `unknown` may be busy. */
export type GpuUse = "free" | "busy" | "unknown";

/**
 * Memory that an idle driver takes for itself, in MiB. Idle cards report 1 to 4; a CUDA context alone takes several tens.
 * Source: `memory.used` of captured idle hosts (nvidia-smi 430 to 610).
 */
const idleMemoryMiB = 16;

/** By its processes; where they cannot be counted (MIG, old nvidia-smi), by its memory. */
export function useOf({ use: { processes, memoryMiB } }: Pick<GpuFacts, "use">): GpuUse {
  if (processes !== null) return processes === 0 ? "free" : "busy";
  if (memoryMiB === null) return "unknown";
  return memoryMiB <= idleMemoryMiB ? "free" : "busy";
}

/** `2 processes, 40000 MiB`. */
export function describeUse({ use: { processes, memoryMiB } }: Pick<GpuFacts, "use">): string {
  const parts = [
    processes === null ? null : `${processes} process${processes === 1 ? "" : "es"}`,
    memoryMiB === null ? null : `${memoryMiB} MiB used`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? "its use cannot be told" : parts.join(", ");
}
