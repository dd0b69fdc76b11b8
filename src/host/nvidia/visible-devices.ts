/** Finds the NVIDIA GPUs that a program may see: `--gpus`, `NVIDIA_VISIBLE_DEVICES`, `CUDA_VISIBLE_DEVICES`. */

import { isContainer } from "../container-runtime.ts";
import type { GpuFacts, HostProblem } from "../../facts/facts.ts";
import { joinNarrowings, type Narrowing, readEntries, refuseSelection } from "../gpu-selection.ts";
import type { HostIo } from "../host-io.ts";

/** The container toolkit and `--gpus` (`nvidia`) take whole names, CUDA also the beginning of one. */
type SelectionGrammar = "cuda" | "nvidia";

interface Selection {
  /** The visible GPUs by index, each with the MIG instances that are visible. */
  readonly gpus: readonly GpuFacts[];
  /** The first entry that names no GPU of this host. */
  readonly invalid: string | null;
}

/**
 * Reads a list such as `0,2`, `GPU-3f4e…`, `MIG-…`, `0:1` (GPU and MIG instance), `all`, `none`, `void` or the empty text.
 *
 * CUDA's rule: everything from the first invalid entry on is ignored, and `all` is no entry (CUDA programming guide,
 * environment variables). In the other grammar invalid entries are left out.
 */
export function selectGpus(gpus: readonly GpuFacts[], text: string, grammar: SelectionGrammar): Selection {
  const list = text.trim();
  if (list === "" || list === "none" || list === "void" || list === "NoDevFiles")
    return { gpus: [], invalid: null };
  // The usual way to hide every GPU from CUDA.
  if (list === "-1" && grammar === "cuda") return { gpus: [], invalid: null };
  if (list === "all" && grammar === "nvidia") return { gpus, invalid: null };
  const find = (entry: string) => findEntry(gpus, entry.trim(), grammar);
  const { found, invalid } = readEntries(list, find, grammar === "cuda");
  const picked = new Map<number, GpuFacts>();
  for (const gpu of found) picked.set(gpu.index, merge(picked.get(gpu.index), gpu, gpus));
  return {
    gpus: [...picked.values()].sort((a, b) => a.index - b.index),
    invalid: invalid === null ? null : invalid.trim(),
  };
}

function findEntry(gpus: readonly GpuFacts[], entry: string, grammar: SelectionGrammar): GpuFacts | null {
  if (/^\d{1,4}$/.test(entry)) return gpus.find((gpu) => gpu.index === Number(entry)) ?? null;
  const instance = /^(\d{1,4}):(\d{1,4})$/.exec(entry);
  if (instance !== null && grammar === "nvidia") {
    const gpu = gpus.find(({ index }) => index === Number(instance[1]));
    const mig = gpu?.mig?.[Number(instance[2])];
    return gpu === undefined || mig === undefined ? null : { ...gpu, mig: [mig] };
  }
  if (/^MIG-/i.test(entry)) return findMig(gpus, entry, grammar);
  if (!/^GPU-/i.test(entry)) return null;
  const found = gpus.filter(({ uuid }) => uuid !== null && matches(uuid, entry, grammar));
  // A prefix of two UUIDs names neither GPU.
  return found.length === 1 ? (found[0] ?? null) : null;
}

function findMig(gpus: readonly GpuFacts[], entry: string, grammar: SelectionGrammar): GpuFacts | null {
  const found = gpus.flatMap((gpu) =>
    (gpu.mig ?? [])
      .filter(({ uuid }) => matches(uuid, entry, grammar))
      .map((mig) => ({ ...gpu, mig: [mig] })),
  );
  return found.length === 1 ? (found[0] ?? null) : null;
}

function matches(uuid: string, entry: string, grammar: SelectionGrammar): boolean {
  const [whole, wanted] = [uuid.toLowerCase(), entry.toLowerCase()];
  return grammar === "cuda" ? wanted.length > 4 && whole.startsWith(wanted) : whole === wanted;
}

/** Joins two entries of one GPU: the instances of both. */
function merge(before: GpuFacts | undefined, found: GpuFacts, gpus: readonly GpuFacts[]): GpuFacts {
  if (before === undefined) return found;
  const whole = gpus.find(({ index }) => index === found.index) ?? found;
  return withMig(whole, new Set([before, found].flatMap(migUuids)));
}

/**
 * Narrows GPUs to those of a `--gpus` option: `0,2`, uuids, MIG uuids, `all` or `none`.
 * Throws `SELECTION_INVALID` for an entry that names no GPU: a slip must not become a host without GPUs.
 */
export function narrowGpus(gpus: readonly GpuFacts[], option: string): readonly GpuFacts[] {
  const { gpus: narrowed, invalid } = selectGpus(gpus, option, "nvidia");
  if (invalid === null) return narrowed;
  throw refuseSelection(gpus, option, invalid);
}

/** Applies the option or, without one, both environment variables of this process. */
export function applyVisibility(
  io: HostIo,
  gpus: readonly GpuFacts[],
  option: string | undefined,
): Narrowing {
  if (option !== undefined)
    return { gpus: narrowGpus(gpus, option), problems: [], source: `--gpus ${option}` };
  const all: Narrowing = { gpus, problems: [], source: null };
  // Inside a container the runtime has applied NVIDIA_VISIBLE_DEVICES already, in the host's numbers; with CDI it is `void`.
  const first = isContainer(io) ? all : narrowBy(io, "NVIDIA_VISIBLE_DEVICES", gpus, "nvidia");
  const second = narrowBy(io, "CUDA_VISIBLE_DEVICES", gpus, "cuda");
  return joinNarrowings("HOST_GPUS_HIDDEN", gpus, intersect(first.gpus, second.gpus), [first, second]);
}

function narrowBy(io: HostIo, name: string, gpus: readonly GpuFacts[], grammar: SelectionGrammar): Narrowing {
  const value = io.env[name];
  // Without GPUs the variable hides nothing, and the container toolkit reads `void` and nothing as no variable.
  const isUnset = value === undefined || (grammar === "nvidia" && ["", "void"].includes(value));
  if (isUnset || gpus.length === 0) return { gpus, problems: [], source: null };
  const selection = selectGpus(gpus, value, grammar);
  const source = `${name}=${value}`;
  if (grammar === "cuda" && isAmbiguous(io, gpus, selection.gpus, value)) {
    return { gpus, problems: [ambiguous(value)], source: null };
  }
  const problems = selection.invalid === null ? [] : [invalidEntry(source, selection.invalid, grammar)];
  return { gpus: selection.gpus, problems, source };
}

/** CUDA numbers GPUs by speed unless CUDA_DEVICE_ORDER says PCI_BUS_ID: with unlike GPUs a number alone names none. */
function isAmbiguous(
  io: HostIo,
  gpus: readonly GpuFacts[],
  narrowed: readonly GpuFacts[],
  value: string,
): boolean {
  const kinds = new Set(gpus.map(({ name, compute }) => `${name} ${compute}`));
  const numbered = /^\s*\d/.test(value);
  const partial = narrowed.length > 0 && narrowed.length < gpus.length;
  return numbered && partial && kinds.size > 1 && io.env.CUDA_DEVICE_ORDER !== "PCI_BUS_ID";
}

function ambiguous(value: string): HostProblem {
  return {
    code: "HOST_VISIBLE_DEVICES_UNCLEAR",
    message: `CUDA_VISIBLE_DEVICES=${value} counts unlike GPUs by speed, which only CUDA knows; all GPUs count as visible`,
    fix: "set CUDA_DEVICE_ORDER=PCI_BUS_ID, name the GPUs by uuid, or give --gpus",
  };
}

function invalidEntry(source: string, entry: string, grammar: SelectionGrammar): HostProblem {
  const outcome = grammar === "cuda" ? "CUDA ignores it and every entry after it" : "it is left out";
  return {
    code: "HOST_VISIBLE_DEVICES_UNCLEAR",
    message: `${source}: there is no GPU ${JSON.stringify(entry)}; ${outcome}`,
    fix: "correct the variable or unset it",
  };
}

function intersect(a: readonly GpuFacts[], b: readonly GpuFacts[]): readonly GpuFacts[] {
  return a.flatMap((gpu) => {
    const other = b.find(({ index }) => index === gpu.index);
    if (other === undefined) return [];
    const both = withMig(gpu, new Set(migUuids(other)));
    // Each list has instances, and no list has one of the other's: nothing of the GPU is left.
    return both.mig?.length === 0 && gpu.mig?.length !== 0 ? [] : [both];
  });
}

function migUuids({ mig }: GpuFacts): readonly string[] {
  return mig?.map(({ uuid }) => uuid) ?? [];
}

/** The GPU with these of its MIG instances. */
function withMig(gpu: GpuFacts, uuids: ReadonlySet<string>): GpuFacts {
  return gpu.mig == null ? gpu : { ...gpu, mig: gpu.mig.filter(({ uuid }) => uuids.has(uuid)) };
}
