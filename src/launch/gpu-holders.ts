/** Which processes hold GPUs of this machine. Facts count them; when that stops a launch, a person wants their names. */

import type { HostIo } from "../host/io.ts";
import type { GpuUnit } from "./gpu-units.ts";
import { remember } from "../oci/remember.ts";

export interface GpuHolder {
  readonly pid: number;
  /** null when the process is another user's and nobody tells. */
  readonly program: string | null;
  readonly memoryMiB: number | null;
}

const limits = { timeoutMs: 5000, maxBytes: 1_000_000 };

/** Index of a GPU → its processes. Empty where neither nvidia-smi nor `/proc` tells. */
export async function findHolders(
  io: HostIo,
  units: readonly GpuUnit[],
): Promise<ReadonlyMap<number, readonly GpuHolder[]>> {
  const query = "--query-compute-apps=gpu_uuid,pid,process_name,used_memory";
  const answer = await io.run("nvidia-smi", [query, "--format=csv,noheader,nounits"], limits);
  const holders = answer?.status === 0 ? parseComputeApps(answer.stdout, units) : new Map();
  // Graphics programs, and what runs in another container, are no compute apps of nvidia-smi: the open files still tell.
  return holders.size > 0 ? holders : readOpenFiles(io, units);
}

/** `GPU-3f…, 4711, python, 38912`: a name may hold commas, so it is what is left between the others. */
export function parseComputeApps(csv: string, units: readonly GpuUnit[]): Map<number, GpuHolder[]> {
  const holders = new Map<number, GpuHolder[]>();
  for (const line of csv.split("\n")) {
    const match = /^(GPU-[0-9a-f-]+),\s*(\d+),\s*(.*),\s*([^,]*)$/i.exec(line.trim());
    const unit = units.find(({ gpu }) => gpu.uuid?.toLowerCase() === match?.[1]?.toLowerCase());
    if (match === null || unit === undefined) continue;
    const [, , pid, program = "", memory = ""] = match;
    remember(holders, unit.gpu.index, () => []).push({
      pid: Number(pid),
      program: program.startsWith("[") ? null : (program.split("/").at(-1) ?? null),
      memoryMiB: /^\d+$/.test(memory.trim()) ? Number(memory) : null,
    });
  }
  return holders;
}

function readOpenFiles(io: HostIo, units: readonly GpuUnit[]): Map<number, GpuHolder[]> {
  const holders = new Map<number, GpuHolder[]>();
  const indexes = new Set(units.map(({ gpu }) => gpu.index));
  for (const pid of io.list("/proc").filter((name) => /^\d+$/.test(name))) {
    const folder = `/proc/${pid}/fd`;
    const open = new Set(io.list(folder).map((fd) => io.readLink(`${folder}/${fd}`)));
    for (const index of indexes) {
      if (!open.has(`/dev/nvidia${index}`)) continue;
      const name = io.readText(`/proc/${pid}/comm`);
      remember(holders, index, () => []).push({
        pid: Number(pid),
        program: typeof name === "string" ? name.trim() : null,
        memoryMiB: null,
      });
    }
  }
  return holders;
}
