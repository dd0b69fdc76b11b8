/** A machine as data for the probe, with what NVML would answer there. */

import { denied, type HostIo } from "../../../../src/host/host-io.ts";
import type { NvmlReading } from "../../../../src/host/nvidia/nvml-reading.ts";
import type { Machine } from "./machine.ts";

export function machineIo(machine: Machine, nvml: NvmlReading | null): HostIo {
  const { files, nodes, links, denied: shut } = machine;
  const paths = [...files.keys(), ...nodes, ...Object.keys(links), ...shut];
  return {
    platform: "linux",
    arch: machine.arch,
    endianness: "LE",
    env: machine.env,
    readText: (path) => (shut.includes(path) ? denied : (files.get(path) ?? null)),
    list: (path) =>
      [
        ...new Set(
          paths
            .filter((each) => each.startsWith(`${path}/`))
            .map((each) => each.slice(path.length + 1).split("/")[0] ?? ""),
        ),
      ].sort(),
    exists: (path) => paths.includes(path) || paths.some((each) => each.startsWith(`${path}/`)),
    mayOpen: (path) => nodes.includes(path) && !shut.includes(path),
    readLink: (path) => links[path] ?? null,
    run: async () => null,
    readNvml: async () => nvml,
    readInventory: async () => null,
  };
}
