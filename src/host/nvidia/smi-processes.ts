/** Reads the compute processes of GPUs from `nvidia-smi --query-compute-apps`. */

/** Their numbers by the uuid of the GPU. A GPU without any is not listed; null where the program does not tell. */
export type SmiProcesses = ReadonlyMap<string, number | null>;

/** Reads `--query-compute-apps=gpu_uuid,pid --format=csv,noheader`; null for a line that is not understood. */
export function parseSmiProcesses(text: string): SmiProcesses | null {
  const found = new Map<string, number | null>();
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (line === "" || /^no running (compute )?processes found/i.test(line)) continue;
    const [, uuid, pid = ""] = /^(GPU-[0-9a-f-]+), ?(.+)$/i.exec(line) ?? [];
    if (uuid === undefined) return null;
    const before = countOf(found, uuid);
    found.set(uuid, before === null || !/^\d+$/.test(pid) ? null : before + 1);
  }
  return found;
}

/** null if it is unknown. */
export function countOf(processes: SmiProcesses, uuid: string): number | null {
  const count = processes.get(uuid);
  return count === undefined ? 0 : count;
}
