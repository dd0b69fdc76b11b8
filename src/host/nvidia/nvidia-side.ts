/** Reads the NVIDIA side of a machine: facts, visible GPUs, runtime. */

import { isContainer } from "../container-runtime.ts";
import type { GpuFacts } from "../../facts/facts.ts";
import type { SideContext, SideReading } from "../gpu-side.ts";
import type { HostIo } from "../host-io.ts";
import { knownSources } from "../../facts/no-facts.ts";
import { noPermission } from "../../facts/host-problems.ts";
import { readNvidiaRuntime, readUvm } from "./container-toolkit.ts";
import { isRefused, uvmNode } from "./device-nodes.ts";
import { readNvidia } from "./nvidia-facts.ts";
import { applyVisibility } from "./visible-devices.ts";

export async function readNvidiaSide(
  io: HostIo,
  { pci, ofNode, pairs }: SideContext,
): Promise<SideReading<"nvidia">> {
  const { facts, problems, sources } = await readNvidia(io, { pci, pairs });
  const runtime = readNvidiaRuntime(io, facts);
  // WSL2 and Jetson have other devices.
  const uvm = ofNode || facts?.driverScale !== undefined ? undefined : readUvm(io);
  const found = facts?.gpus ?? [];
  // The libraries of this container are not those of the node.
  const isOwn = !ofNode || !isContainer(io);
  const faults = problems.filter(({ code }) => isOwn || code !== "HOST_NO_LIBCUDA");
  const isUvmShut = (gpus: readonly GpuFacts[]) =>
    gpus.length > 0 && !ofNode && facts?.driverScale === undefined && isRefused(io, uvmNode);
  const read = (gpus: string | undefined): SideReading<"nvidia"> => {
    const visible = applyVisibility(io, found, gpus);
    return {
      facts: facts && { ...facts, ...(uvm === undefined ? {} : { uvm }), gpus: visible.gpus },
      runtime: runtime.facts,
      holds: found.length > 0,
      problems: [...faults, ...(isUvmShut(visible.gpus) ? [noPermission(uvmNode)] : []), ...visible.problems],
      sources: { ...sources, ...knownSources({ "nvidia.visible": visible.source }), ...runtime.sources },
      select: read,
    };
  };
  return read(undefined);
}
