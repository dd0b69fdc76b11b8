/** Asks `nvidia-smi` in as few runs as possible, and names the problem when it does not answer. */

import { cudaOfDriver } from "../../hardware/cuda-toolkits.ts";
import type { GpuFacts, HostProblem, MigInstance } from "../../facts/facts.ts";
import type { CommandResult, HostIo } from "../host-io.ts";
import * as problem from "../../facts/host-problems.ts";
import { unknownGpu, unknownUse } from "../../facts/no-facts.ts";
import { meaningOf } from "./evidence.ts";
import type { NvidiaReading } from "./nvidia-reading.ts";
import {
  newBranch,
  newFields,
  parseSmiComplaint,
  parseSmiCsv,
  parseSmiHeader,
  parseSmiList,
  queryFields,
  type SmiGpu,
  type SmiHeader,
  toldStates,
  unknownField,
} from "./nvidia-smi.ts";
import { countOf, parseSmiProcesses, type SmiProcesses } from "./smi-processes.ts";
import { parseSmiLinks, type SmiLinks } from "./smi-topology.ts";
import { mayNeedLicence, parseSmiLicences } from "./smi-licences.ts";
import { wslLibraries } from "../container-runtime.ts";
import { mayLackLibcuda, type Surroundings } from "./surroundings.ts";

/** A server without the persistence daemon needs some seconds to wake its eight GPUs. */
export const smiTimeoutMs = 15_000;
const maxBytes = 1024 * 1024;

/** null when this machine has no `nvidia-smi`, or one that cannot be started. */
export async function readNvidiaSmi(io: HostIo, around: Surroundings): Promise<NvidiaReading | null> {
  const { wsl } = around;
  const command =
    wsl && io.exists(`${wslLibraries}/nvidia-smi`) ? `${wslLibraries}/nvidia-smi` : "nvidia-smi";
  const run = (...args: string[]) => io.run(command, args, { timeoutMs: smiTimeoutMs, maxBytes });

  const answer = await query(run, around);
  if (answer === null || meaningOf("nvidia-smi", answer.status ?? -1) === "silent") return null;
  const { gpus, problems } = judge(answer, around);
  // A program that just failed is not run again.
  const isAlive = gpus !== null && gpus.length > 0;
  const wantsHeader = wsl || cudaOfDriver(around.module?.version ?? "") === null || mayLackLibcuda(io);
  const header = isAlive && wantsHeader ? readHeader(await run()) : null;
  const list = isAlive && gpus.some((gpu) => gpu.mig === true) ? await run("-L") : null;
  // In a container and in WSL the program lists none of the processes outside.
  const apps =
    isAlive && !wsl && !around.container
      ? await run("--query-compute-apps=gpu_uuid,pid", "--format=csv,noheader")
      : null;
  const processes = apps?.status === 0 ? parseSmiProcesses(apps.stdout) : null;
  const matrix = isAlive && around.pairs && gpus.length > 1 ? await run("topo", "-m") : null;
  const links = matrix?.status === 0 ? parseSmiLinks(matrix.stdout) : null;
  const whole = isAlive && gpus.some(mayNeedLicence) ? await run("-q") : null;
  return {
    source: "nvidia-smi",
    driver: gpus?.find((gpu) => gpu.driver !== null)?.driver ?? header?.driver ?? null,
    library: wsl ? (header?.program ?? null) : null,
    cuda: header?.cuda ?? null,
    ...(header?.lacksCuda && { lacksCuda: true }),
    gpus:
      gpus === null
        ? null
        : gpusOf(gpus, {
            list: list?.stdout ?? "",
            licences: parseSmiLicences(whole?.stdout ?? ""),
            processes,
            links,
          }),
    problems,
  };
}

type Run = (...args: string[]) => Promise<CommandResult | null>;

/** Each program knows its own set of fields. An unknown one is left out with all newer ones, and the query runs again. */
async function query(run: Run, { module }: Surroundings): Promise<CommandResult | null> {
  const branch = Number.parseInt(module?.version ?? "", 10);
  let fields: readonly string[] = branch >= newBranch ? [...queryFields, ...newFields] : queryFields;
  for (;;) {
    const answer = await run(`--query-gpu=${fields.join(",")}`, "--format=csv");
    const unknown = answer === null ? null : unknownField(`${answer.stdout}\n${answer.stderr}`);
    if (unknown === null || !fields.includes(unknown)) return answer;
    fields = fields.slice(0, fields.indexOf(unknown));
  }
}

function readHeader(answer: CommandResult | null): SmiHeader | null {
  return answer === null || answer.timedOut ? null : parseSmiHeader(answer.stdout);
}

interface Judgement {
  readonly gpus: readonly SmiGpu[] | null;
  readonly problems: readonly HostProblem[];
}

function judge(answer: CommandResult, { module, container }: Surroundings): Judgement {
  if (answer.timedOut) return { gpus: null, problems: [problem.smiTimeout(smiTimeoutMs / 1000)] };
  const output = `${answer.stdout}\n${answer.stderr}`;
  const complaint = parseSmiComplaint(output, module?.version ?? null, container);
  const table = parseSmiCsv(answer.stdout);
  const complaints = complaint === null ? [] : [complaint];
  // As NVML's list without a card: nodes and bus tell why.
  if (complaint?.code === "HOST_NO_DEVICES") return { gpus: [], problems: [] };
  if (table !== null && table.gpus.length > 0) {
    const broken = table.gpus.flatMap(brokenFields);
    return { gpus: table.gpus, problems: [...complaints, ...strays(table, complaints), ...broken] };
  }
  if (complaint !== null) return { gpus: null, problems: complaints };
  if (answer.status !== 0) return { gpus: null, problems: [problem.smiFailed(answer.status, output)] };
  return { gpus: null, problems: [problem.smiGarbage(output)] };
}

function brokenFields(gpu: SmiGpu, position: number): readonly HostProblem[] {
  if (gpu.broken.length === 0) return [];
  const label = problem.gpuLabel({ index: gpu.index ?? position, name: gpu.name, bus: gpu.bus });
  return [problem.gpuUnreadable(label, `an error instead of ${gpu.broken.join(", ")}`)];
}

function strays(
  table: { readonly strays: readonly string[] },
  complaints: readonly HostProblem[],
): readonly HostProblem[] {
  const [first] = table.strays;
  return first === undefined || complaints.length > 0 ? [] : [problem.smiGarbage(first)];
}

/** The answers of further runs; a list or a matrix that was not asked for is empty or null. */
interface SmiMore {
  readonly list: string;
  readonly licences: ReadonlyMap<string, boolean>;
  readonly processes: SmiProcesses | null;
  readonly links: SmiLinks | null;
}

/** Uses the printed indices, or the positions if two indices are equal or one is missing. */
function gpusOf(gpus: readonly SmiGpu[], { list, licences, processes, links }: SmiMore): readonly GpuFacts[] {
  const isNumbered = new Set(gpus.flatMap(({ index }) => index ?? [])).size === gpus.length;
  return gpus.map((gpu, position) => {
    const { uuid, name, compute, pci, bus, memoryMiB, usedMiB } = gpu;
    const index = isNumbered ? (gpu.index ?? position) : position;
    const mig = gpu.mig === true ? migOf(list, uuid, index) : gpu.mig === false ? null : undefined;
    const licensed = licences.get(bus ?? "");
    // The list names instances of a GPU in MIG mode in another way.
    const isListed = processes !== null && uuid !== null && gpu.mig !== true;
    const counted = isListed ? countOf(processes, uuid) : null;
    const joined = isNumbered ? links?.get(index) : null;
    const use = { ...unknownUse, processes: counted, memoryMiB: usedMiB };
    return {
      ...unknownGpu(index),
      ...{ uuid, name, compute, pci, bus, memoryMiB, use },
      ...(mig !== undefined && { mig }),
      ...(licensed !== undefined && { licensed }),
      ...(joined != null && { links: joined }),
      ...toldStates(gpu),
    };
  });
}

/** undefined where the list lacks the GPU, so that nobody knows its instances. */
function migOf(list: string, uuid: string | null, index: number): readonly MigInstance[] | undefined {
  const entries = parseSmiList(list);
  const entry = entries.find((each) => each.uuid === uuid) ?? entries.find((each) => each.index === index);
  return entry?.mig;
}
