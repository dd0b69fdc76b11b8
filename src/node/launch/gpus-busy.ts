/** Explains why no GPUs were handed out: names the processes that hold them, or says that nobody knows. */

import { ImgmatchError } from "../../errors.ts";
import type { GpuVendor } from "../../hardware/gpu-vendors.ts";
import type { HostIo } from "../../host/host-io.ts";
import { nodeHostIo } from "../../host/node-host-io.ts";
import type { Environment } from "../../io/world.ts";
import { remember } from "../../io/collections.ts";
import type { GpuChoice, TakenUnit } from "./choose-gpus.ts";
import { describeUnit, describeUse, type GpuUnit, traitsOf } from "./gpu-units.ts";

type Refusal = Extract<GpuChoice, { readonly ok: false }>;

/** `GPU_BUSY` or `GPU_BUSY_UNKNOWN`. The holders are asked for only on the host itself. */
export async function refusedGpus(
  refusal: Refusal,
  isHere: boolean,
  env: Environment,
): Promise<ImgmatchError> {
  const taken = isHere ? refusal.taken.map(({ unit }) => unit) : [];
  return gpusBusy(refusal, await findHolders(nodeHostIo(env), taken));
}

/** `GPU_BUSY` with the holders of the GPUs that are not free; `GPU_BUSY_UNKNOWN` where those of unknown use would be enough. */
export function gpusBusy({ wanted, free, taken }: Refusal, holders: GpuHolders): ImgmatchError {
  const total = free.length + taken.length;
  const unknown = taken.filter(({ use }) => use === "unknown").length;
  const details = taken.map((unit) => `  ${describeTaken(unit, holders)}`);
  const refuse = (code: "GPU_BUSY" | "GPU_BUSY_UNKNOWN", summary: string, fix: string) =>
    new ImgmatchError({ code, message: `${count(wanted)} asked for, ${summary}`, details, fix });
  if (total < wanted)
    return refuse(
      "GPU_BUSY",
      `this host shows ${total}`,
      total === 0
        ? "take an image without GPU code (--gpus none); imgmatch doctor says why a GPU may not be seen"
        : `ask for ${total} or fewer`,
    );
  const known = `${free.length} of ${total} ${free.length === 1 ? "is" : "are"} free`;
  if (free.length + unknown < wanted)
    return refuse(
      "GPU_BUSY",
      known,
      "wait for the processes to end, ask for fewer or other GPUs, or share them with --allow-busy",
    );
  const isAll = unknown === total;
  return refuse(
    "GPU_BUSY_UNKNOWN",
    isAll
      ? "and the host's facts do not tell which are in use"
      : `${known}, the use of ${unknown} is not known`,
    "name GPUs that you know to be free, such as --gpus device=0, or take all as free with --allow-busy",
  );
}

function describeTaken({ unit }: TakenUnit, holders: GpuHolders): string {
  const names = (holders.get(unit.name) ?? []).map(describeHolder);
  return [describeUnit(unit), describeUse(unit), ...(names.length === 0 ? [] : [names.join(", ")])].join(
    ": ",
  );
}

function describeHolder({ pid, program, memoryMiB }: GpuHolder): string {
  const memory = memoryMiB === null ? "" : `, ${memoryMiB} MiB`;
  return `${program ?? "a process"} (pid ${pid}${memory})`;
}

function count(wanted: number): string {
  return `${wanted} free GPU${wanted === 1 ? "" : "s"}`;
}

export interface GpuHolder {
  readonly pid: number;
  /** null for another user's process whose name is hidden. */
  readonly program: string | null;
  readonly memoryMiB: number | null;
}

const limits = { timeoutMs: 5000, maxBytes: 1_000_000 };

/** Unit name → the processes of its GPU. */
export type GpuHolders = ReadonlyMap<string, readonly GpuHolder[]>;

/** Asks nvidia-smi, then `/proc`. Empty if neither knows. */
export async function findHolders(io: HostIo, units: readonly GpuUnit[]): Promise<GpuHolders> {
  if (units.length === 0) return new Map();
  if (!units.some(({ vendor }) => isListed[vendor])) return readOpenFiles(io, units);
  const query = "--query-compute-apps=gpu_uuid,pid,process_name,used_memory";
  const answer = await io.run("nvidia-smi", [query, "--format=csv,noheader,nounits"], limits);
  const holders = answer?.status === 0 ? parseComputeApps(answer.stdout, units) : new Map();
  // nvidia-smi lists no graphics programs and no processes of other containers, but the open files show them.
  return holders.size > 0 ? holders : readOpenFiles(io, units);
}

/** nvidia-smi lists the processes of the vendor's GPUs. */
const isListed: Readonly<Record<GpuVendor, boolean>> = { nvidia: true, amd: false };

/** `GPU-3f…, 4711, python, 38912`. A program's name may hold commas. */
export function parseComputeApps(csv: string, units: readonly GpuUnit[]): Map<string, GpuHolder[]> {
  const holders = new Map<string, GpuHolder[]>();
  for (const line of csv.split("\n")) {
    const match = /^(GPU-[0-9a-f-]+),\s*(\d+),\s*(.*),\s*([^,]*)$/i.exec(line.trim());
    if (match === null) continue;
    const [, uuid = "", pid, program = "", memory = ""] = match;
    // In MIG mode several units share a GPU.
    for (const unit of units.filter(({ gpu }) => gpu.uuid?.toLowerCase() === uuid.toLowerCase()))
      remember(holders, unit.name, () => []).push({
        pid: Number(pid),
        program: program.startsWith("[") ? null : (program.split("/").at(-1) ?? null),
        memoryMiB: /^\d+$/.test(memory.trim()) ? Number(memory) : null,
      });
  }
  return holders;
}

function readOpenFiles(io: HostIo, units: readonly GpuUnit[]): Map<string, GpuHolder[]> {
  const holders = new Map<string, GpuHolder[]>();
  for (const pid of io.list("/proc").filter((name) => /^\d+$/.test(name))) {
    const folder = `/proc/${pid}/fd`;
    const devices = new Set(io.list(folder).map((fd) => io.readLink(`${folder}/${fd}`)));
    for (const each of units) {
      const { file } = traitsOf(each);
      if (file === null || !devices.has(file)) continue;
      const name = io.readText(`/proc/${pid}/comm`);
      remember(holders, each.name, () => []).push({
        pid: Number(pid),
        program: typeof name === "string" ? name.trim() : null,
        memoryMiB: null,
      });
    }
  }
  return holders;
}
