/** Why no GPUs were handed out, in words. */

import { ImgmatchError } from "../errors.ts";
import type { GpuChoice, TakenUnit } from "./choose-gpus.ts";
import type { GpuHolder } from "./gpu-holders.ts";
import { describeUnit } from "./gpu-units.ts";
import { describeUse } from "./gpu-use.ts";

type Refusal = Extract<GpuChoice, { readonly ok: false }>;

/** `GPU_BUSY`, with what holds the GPUs that are not free. */
export function gpusBusy(
  { wanted, free, taken }: Refusal,
  holders: ReadonlyMap<number, readonly GpuHolder[]>,
): ImgmatchError {
  const total = free.length + taken.length;
  const summary =
    total < wanted
      ? `${count(wanted)} asked for, this host shows ${total}`
      : `${count(wanted)} asked for, ${free.length} of ${total} ${free.length === 1 ? "is" : "are"} free`;
  const details = taken.map((unit) => `  ${describeTaken(unit, holders)}`);
  return new ImgmatchError({
    code: "GPU_BUSY",
    message: summary,
    details,
    fix:
      total === 0
        ? "take an image without GPU code (--gpus none); imgmatch doctor says why a GPU may not be seen"
        : total < wanted
          ? `ask for ${total} or fewer`
          : "wait until they end, ask for fewer or for others, or share them with --allow-busy",
  });
}

function describeTaken({ unit, use }: TakenUnit, holders: ReadonlyMap<number, readonly GpuHolder[]>): string {
  const names = (holders.get(unit.gpu.index) ?? []).map(describeHolder);
  const state = use === "unknown" ? "its use cannot be told" : describeUse(unit.gpu);
  return `${describeUnit(unit)}: ${state}${names.length === 0 ? "" : `: ${names.join(", ")}`}`;
}

function describeHolder({ pid, program, memoryMiB }: GpuHolder): string {
  const memory = memoryMiB === null ? "" : `, ${memoryMiB} MiB`;
  return `${program ?? "a process"} (pid ${pid}${memory})`;
}

function count(wanted: number): string {
  return `${wanted} free GPU${wanted === 1 ? "" : "s"}`;
}
