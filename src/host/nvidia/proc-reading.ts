/** Reads driver and GPUs from `/proc` and `/sys` alone. */

import { compareText } from "../../io/collections.ts";
import { isContainer } from "../container-runtime.ts";
import type { GpuFacts, HostProblem } from "../../facts/facts.ts";
import { denied, type HostIo } from "../host-io.ts";
import { noPermission } from "../../facts/host-problems.ts";
import { formatBus, type PciGpu } from "../pci.ts";
import { pciPath } from "../../facts/facts.ts";
import { unknownGpu } from "../../facts/no-facts.ts";
import type { NvidiaReading } from "./nvidia-reading.ts";

/** Reads the GPUs that the NVIDIA module holds; `gpus` is null without a list of them. */
export function readProcNvidia(io: HostIo, driver: string | null, pci: readonly PciGpu[]): NvidiaReading {
  const proc = readProcGpus(io);
  const problems: HostProblem[] = proc.denied ? [noPermission(procGpusPath)] : [];
  const reading = { driver, library: null, cuda: null, problems };
  if (io.list(procGpusPath).length > 0 && !proc.denied) {
    const listed = proc.gpus.filter(({ excluded }) => !excluded);
    const gpus = visible(io, listed).map(({ uuid, name, bus }, index) => {
      const id = pci.find((device) => device.bus === bus)?.id ?? null;
      return { ...unknownGpu(index), uuid, name, pci: id, bus };
    });
    return { ...reading, source: procGpusPath, gpus };
  }
  const driven = pci.filter((gpu) => gpu.driver === "nvidia");
  return { ...reading, source: pciPath, gpus: driven.length === 0 ? null : driven.map(fromPci) };
}

/** A GPU whose PCI device alone is known. */
export function fromPci({ bus, id: pci }: PciGpu, index: number): GpuFacts {
  return { ...unknownGpu(index), pci, bus };
}

/**
 * In a container `/proc/driver/nvidia/gpus` lists the GPUs of the whole host, `/dev` only the container's own.
 * On a host a missing `/dev/nvidia0` means nothing: the first program that needs the node creates it.
 */
function visible(io: HostIo, gpus: readonly ProcGpu[]): readonly ProcGpu[] {
  if (!isContainer(io)) return gpus;
  return gpus.filter(({ minor }) => minor === null || io.exists(`/dev/nvidia${minor}`));
}

/** The cards of the module, with the node that each has or should have; empty where the module's list cannot be read. */
export function procCards(
  io: HostIo,
): readonly { readonly bus: string | null; readonly node: string | null }[] {
  return readProcGpus(io)
    .gpus.filter(({ excluded }) => !excluded)
    .map(({ bus, minor }) => ({ bus, node: minor === null ? null : `/dev/nvidia${minor}` }));
}

/** True if the module hides this GPU from every program. */
export function isExcluded(io: HostIo, bus: string): boolean {
  return readProcGpus(io).gpus.some((gpu) => gpu.excluded && gpu.bus === bus);
}

/** True if a GPU is cut into MIG instances, whose uuids only NVML and nvidia-smi know. */
export function hasMigInstances(io: HostIo): boolean {
  const root = "/proc/driver/nvidia/capabilities";
  return io.list(root).some((gpu) => io.list(`${root}/${gpu}/mig`).some((name) => /^gi\d+$/.test(name)));
}

/** The NVIDIA kernel module: its version and flavor, from `/proc` and `/sys`. */
interface KernelModule {
  /** null when the file names no version, or only an L4T release number. */
  readonly version: string | null;
  readonly flavor: "open" | "proprietary" | null;
  /** The L4T release, if the file has that in place of a driver version (old Jetson stack). */
  readonly l4t: string | null;
}

export const procVersionPath = "/proc/driver/nvidia/version";

const sysVersionPath = "/sys/module/nvidia/version";

/**
 * Reads the text of `/proc/driver/nvidia/version`.
 *
 * The version is the first number after `Kernel Module` (open: after `for <architecture>`): `x86_64` and the compiler's
 * line have numbers of their own, and the rest of the line may be cut or in another language.
 *
 * @example parseProcDriver("NVRM version: NVIDIA UNIX x86_64 Kernel Module  418.56  Fri …") // version 418.56, proprietary
 */
export function parseProcDriver(text: string): KernelModule | null {
  const line = text.split("\n").find((each) => /^\s*NVRM version:/.test(each));
  const match = /\bKernel Module(?:\s+for\s+(\S+))?\s+(\d+(?:\.\d+){1,3})(?![\w.])/.exec(line ?? "");
  if (line === undefined || match === null) return null;
  const version = match[2] ?? null;
  // The nvgpu stack of JetPack 4 and 5 prints the L4T release (34.1.1) and neither "Open" nor the x86 word order.
  const onTegra = match[1] === "aarch64" && !/\bOpen Kernel Module\b/.test(line);
  if (onTegra && version !== null && Number(version.split(".")[0]) < 100) {
    return { version: null, flavor: null, l4t: version };
  }
  return { version, flavor: /\bOpen Kernel Module\b/.test(line) ? "open" : "proprietary", l4t: null };
}

/** `/sys/module/nvidia/version` holds the number and nothing else. */
export function parseSysDriver(text: string): string | null {
  return /^\s*(\d+(?:\.\d+){1,3})\s*$/.exec(text)?.[1] ?? null;
}

export interface KernelModuleReading extends KernelModule {
  readonly source: string;
}

/** Reads the version of the kernel's NVIDIA module; null if none is loaded, {@link denied} if it may not be read. */
export function readKernelModule(io: HostIo): KernelModuleReading | null | typeof denied {
  const proc = io.readText(procVersionPath);
  if (typeof proc === "string") {
    const parsed = parseProcDriver(proc);
    if (parsed !== null) return { ...parsed, source: procVersionPath };
  }
  const sys = io.readText(sysVersionPath);
  if (typeof sys === "string") {
    const version = parseSysDriver(sys);
    if (version !== null) return { version, flavor: null, l4t: null, source: sysVersionPath };
  }
  if (proc === denied || sys === denied) return denied;
  return proc === null && sys === null
    ? null
    : { version: null, flavor: null, l4t: null, source: proc === null ? sysVersionPath : procVersionPath };
}

/** `/proc/driver/nvidia/gpus/<address>/information`: the GPUs that the kernel module holds. */
interface ProcGpu {
  /** PCI address with an eight-digit domain. */
  readonly bus: string | null;
  readonly name: string | null;
  /** null until a program asked the GPU for it. */
  readonly uuid: string | null;
  /** N of `/dev/nvidiaN`. */
  readonly minor: number | null;
  /** Hidden from every program by the module's `NVreg_ExcludedGpus`. */
  readonly excluded: boolean;
}

export const procGpusPath = "/proc/driver/nvidia/gpus";

/** Reads one `information` file. Values follow `: ` and tabs; the line may end in blanks. */
export function parseProcGpu(text: string): ProcGpu {
  const value = (key: string) => new RegExp(`^${key}:[ \\t]*(.*?)\\s*$`, "m").exec(text)?.[1] ?? null;
  const name = value("Model");
  const uuid = value("GPU UUID");
  const minor = value("Device Minor");
  return {
    bus: formatBus(value("Bus Location") ?? ""),
    name: name === null || name === "" || name === "Unknown" ? null : name,
    // Before the driver has read it the UUID is a row of question marks.
    uuid: uuid !== null && /^GPU-[0-9a-f-]+$/i.test(uuid) ? uuid : null,
    minor: minor !== null && /^\d{1,4}$/.test(minor) ? Number(minor) : null,
    excluded: /^yes$/i.test(value("GPU Excluded") ?? ""),
  };
}

/** All GPUs of the module by PCI address, excluded ones too. */
function readProcGpus(io: HostIo): { readonly gpus: readonly ProcGpu[]; readonly denied: boolean } {
  const files = io
    .list(procGpusPath)
    .map((address) => ({ address, text: io.readText(`${procGpusPath}/${address}/information`) }));
  const gpus = files.flatMap(({ address, text }) => {
    if (typeof text !== "string") return [];
    const gpu = parseProcGpu(text);
    return [{ ...gpu, bus: gpu.bus ?? formatBus(address) }];
  });
  return {
    gpus: gpus.sort((a, b) => compareText(a.bus ?? "", b.bus ?? "")),
    denied: files.some(({ text }) => text === denied),
  };
}
