/** Reads the NVIDIA side of a machine: facts, visible GPUs, runtime. */

import type { SideQuestion, SideReading } from "../gpu-side.ts";
import type { HostIo } from "../host-io.ts";
import { knownSources } from "../../facts/no-facts.ts";
import { readNvidiaRuntime, readUvm } from "./container-toolkit.ts";
import { readNvidia } from "./nvidia-facts.ts";
import { applyVisibility } from "./visible-devices.ts";

export async function readNvidiaSide(
  io: HostIo,
  { pci, ofNode }: SideQuestion,
): Promise<SideReading<"nvidia">> {
  const { facts, problems, sources } = await readNvidia(io, pci);
  const runtime = readNvidiaRuntime(io);
  // WSL2 and Jetson have other devices.
  const uvm = ofNode || facts?.driverScale !== undefined ? undefined : readUvm(io);
  const found = facts?.gpus ?? [];
  const read = (gpus: string | undefined): SideReading<"nvidia"> => {
    const visible = applyVisibility(io, found, gpus);
    return {
      facts: facts && { ...facts, ...(uvm === undefined ? {} : { uvm }), gpus: visible.gpus },
      runtime: runtime.facts,
      holds: found.length > 0,
      problems: [...problems, ...visible.problems],
      sources: { ...sources, ...knownSources({ "nvidia.visible": visible.source }), ...runtime.sources },
      select: read,
    };
  };
  return read(undefined);
}
