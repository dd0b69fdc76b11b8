/** Facts whose values are all unknown, to be filled. */

import {
  type AmdGpuFacts,
  factsSchemaVersion,
  type GpuFacts,
  type HostFacts,
  type NvidiaFacts,
} from "./facts.ts";

export const unknownNvidia: NvidiaFacts = { driver: null, module: null, library: null, cuda: null, gpus: [] };

/** The sources of facts, without those of unknown ones. */
export function knownSources(sources: Readonly<Record<string, string | null>>): HostFacts["sources"] {
  const known = Object.entries(sources).filter((entry): entry is [string, string] => entry[1] !== null);
  return Object.fromEntries(known);
}

export const unknownUse: GpuFacts["use"] = { processes: null, memoryMiB: null };

export function unknownGpu(index: number): GpuFacts {
  return {
    index,
    uuid: null,
    name: null,
    compute: null,
    pci: null,
    bus: null,
    memoryMiB: null,
    class: "unknown",
    integrated: null,
    use: unknownUse,
  };
}

export function unknownAmdGpu(index: number): AmdGpuFacts {
  return {
    index,
    uuid: null,
    name: null,
    target: null,
    sramecc: null,
    pci: null,
    bus: null,
    render: null,
    memoryMiB: null,
    partition: null,
    integrated: null,
  };
}

/** A host whose platform alone is known: `linux/amd64`. */
export function unknownHost(platform: string): HostFacts {
  return {
    schemaVersion: factsSchemaVersion,
    platform,
    kernel: null,
    cpu: { vendor: null, model: null, features: null, level: null },
    runtime: { nvidia: null },
    problems: [],
    sources: {},
  };
}
