/** Reads the AMD side of a machine. Most machines have none, and need not load the reader. */

import { isWsl } from "../container-runtime.ts";
import type { SideContext, SideReading } from "../gpu-side.ts";
import type { HostIo } from "../host-io.ts";

export async function readAmdSide(
  io: HostIo,
  { pci, others, pairs }: SideContext,
): Promise<SideReading<"amd">> {
  if (pci.length === 0 && !["/sys/class/kfd", "/sys/module/amdgpu"].some(io.exists)) {
    // WSL2 shows GPUs of AMD in another way.
    const facts = isWsl(io) ? undefined : null;
    const nothing = { facts, runtime: {}, holds: false, problems: [], sources: {} };
    const none: SideReading<"amd"> = { ...nothing, select: () => none };
    return none;
  }
  const { readAmd } = await import("./amd-facts.ts");
  const read = (gpus: string | undefined): SideReading<"amd"> => {
    const reading = readAmd(io, { pci, others, pairs }, gpus);
    return { ...reading, holds: reading.facts !== null, select: read };
  };
  return read(undefined);
}
