/** Adds the NUMA nodes of GPUs. Source: Linux, Documentation/ABI/testing/sysfs-bus-pci, numa_node. */

import { pciPath } from "../facts/facts.ts";
import { type HostIo, textOf } from "./host-io.ts";
import { sysfsAddress } from "./pci.ts";

interface OnBus {
  readonly bus: string | null;
}

export function withNumaNodes<Facts extends { readonly gpus: readonly OnBus[] } | null | undefined>(
  io: HostIo,
  facts: Facts,
): Facts {
  return facts == null
    ? facts
    : { ...facts, gpus: facts.gpus.map((gpu) => ({ ...gpu, ...numaOf(io, gpu) })) };
}

/** The kernel writes -1 where the firmware names no node. */
function numaOf(io: HostIo, { bus }: OnBus): { readonly numa?: number | null } {
  const text = bus === null ? null : textOf(io, `${pciPath}/${sysfsAddress(bus)}/numa_node`);
  const node = /^(-1|\d{1,4})\s*$/.exec(text ?? "")?.[1];
  return node === undefined ? {} : { numa: node === "-1" ? null : Number(node) };
}
