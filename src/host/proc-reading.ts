/** Driver and GPUs from `/proc` and `/sys` alone: no library, no process. */

import { isContainer } from "./container.ts";
import type { HostProblem } from "./facts.ts";
import type { HostIo } from "./io.ts";
import type { PciGpu } from "./pci.ts";
import { pciPath } from "./pci.ts";
import { noPermission } from "./host-problems.ts";
import { type ProcGpu, procGpusPath, readProcGpus } from "./proc-gpus.ts";
import type { NvidiaReading, RawGpu } from "./raw-gpu.ts";
import { unknownGpu } from "./unknown.ts";

/** What the kernel says about GPUs that the NVIDIA module holds; `gpus` is null when it says nothing. */
export function readProcNvidia(io: HostIo, driver: string | null, pci: readonly PciGpu[]): NvidiaReading {
  const proc = readProcGpus(io);
  const problems: HostProblem[] = proc.denied ? [noPermission(procGpusPath)] : [];
  const reading = { driver, library: null, cuda: null, problems };
  if (io.list(procGpusPath).length > 0 && !proc.denied) {
    const gpus = visible(io, proc.gpus).map((gpu, index) => fromProc(gpu, index, pci));
    return { ...reading, source: procGpusPath, gpus };
  }
  const held = pci.filter((gpu) => gpu.driver === "nvidia");
  return { ...reading, source: pciPath, gpus: held.length === 0 ? null : held.map(fromPci) };
}

/** A GPU of which nothing but the PCI device is known. */
export function fromPci(gpu: PciGpu, index: number): RawGpu {
  const { bus, id: pci } = gpu;
  return { ...unknownGpu(index), pci, bus };
}

function fromProc(gpu: ProcGpu, index: number, pci: readonly PciGpu[]): RawGpu {
  const { uuid, name, bus } = gpu;
  const id = pci.find((device) => device.bus === bus)?.id ?? null;
  return { ...unknownGpu(index), uuid, name, pci: id, bus };
}

/**
 * In a container `/proc/driver/nvidia/gpus` lists the GPUs of the whole host, `/dev` only those that were given to it.
 * On a host a missing `/dev/nvidia0` means nothing: the first program that needs it makes it.
 */
function visible(io: HostIo, gpus: readonly ProcGpu[]): readonly ProcGpu[] {
  if (!isContainer(io)) return gpus;
  return gpus.filter(({ minor }) => minor === null || io.exists(`/dev/nvidia${minor}`));
}

/** Whether a GPU is cut into MIG instances, whose uuids only NVML and nvidia-smi know. */
export function hasMigInstances(io: HostIo): boolean {
  const root = "/proc/driver/nvidia/capabilities";
  return io.list(root).some((gpu) => io.list(`${root}/${gpu}/mig`).some((name) => /^gi\d+$/.test(name)));
}
