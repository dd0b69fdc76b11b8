/** Probes a machine: CPU, drivers, GPUs and container runtime. */

import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import { readAmdSide } from "./amd/amd-side.ts";
import { readCpu } from "./cpu/cpu-facts.ts";
import { kernelNumber, withinGrammar } from "../facts/fact-grammar.ts";
import { factsSchemaVersion, type HostFacts } from "../facts/facts.ts";
import type { SideContext, SideReading } from "./gpu-side.ts";
import { type HostIo, readingOnce, textOf } from "./host-io.ts";
import { ociArchitecture } from "./oci-architecture.ts";
import { withBrokenStates } from "../facts/broken-states.ts";
import { readNvidiaSide } from "./nvidia/nvidia-side.ts";
import { pciVendors, readPciGpus } from "./pci.ts";
import { withNumaNodes } from "./numa-nodes.ts";

export interface ProbeOptions {
  /** Visible GPUs: `0,2`, uuids, `all`. Replaces the environment's `…_VISIBLE_DEVICES`. */
  readonly gpus?: string;
  /** Describe the node for the containers that others start there: a device that only this process's own container lacks is no fault. */
  readonly ofNode?: boolean;
  /** Ask for the links and the NUMA nodes of GPUs too, for who chooses several of them. */
  readonly pairs?: boolean;
}

/**
 * Reads CPU, driver, GPUs and container runtime of a machine. A broken machine is no error: `problems` lists its faults, each
 * with its cure. Throws `SELECTION_INVALID` when `options.gpus` names a GPU that is not there.
 *
 * @example
 * const facts = await probeHost(nodeHostIo());
 * facts.cpu.level; // "x86-64-v3"
 */
export async function probeHost(io: HostIo, options: ProbeOptions = {}): Promise<HostFacts> {
  // Texts outside the grammar become null. Then come the problems that the facts themselves prove.
  return withBrokenStates(withinGrammar(await readMachine(readingOnce(io), options)));
}

async function readMachine(io: HostIo, options: ProbeOptions): Promise<HostFacts> {
  if (io.platform !== "linux") {
    const { probeOtherSystem } = await import("./other-systems.ts");
    return probeOtherSystem(io, ociArchitecture(io));
  }
  const architecture = ociArchitecture(io);
  const kernel = kernelNumber(textOf(io, "/proc/sys/kernel/osrelease") ?? "");
  const cpu = readCpu(io, architecture, kernel);
  const sides = await readSides(io, options);
  const readings = sides.map(({ reading }) => reading);
  const gpus = Object.fromEntries(
    sides.map(({ vendor, reading: { facts } }) => [vendor, options.pairs ? withNumaNodes(io, facts) : facts]),
  );
  return {
    schemaVersion: factsSchemaVersion,
    platform: `linux/${architecture}`,
    kernel,
    cpu: cpu.facts,
    ...(gpus as Pick<HostFacts, GpuVendor>),
    runtime: Object.assign({ nvidia: null }, ...readings.map(({ runtime }) => runtime)),
    problems: [...cpu.problems, ...readings.flatMap(({ problems }) => problems)],
    sources: Object.assign({}, cpu.sources, ...readings.map(({ sources }) => sources)),
  };
}

const readers: {
  readonly [V in GpuVendor]: (io: HostIo, question: SideContext) => Promise<SideReading<V>>;
} = { nvidia: readNvidiaSide, amd: readAmdSide };

async function readSides(io: HostIo, { gpus, ofNode = false, pairs = false }: ProbeOptions) {
  const found = readPciGpus(io);
  const sides: { readonly vendor: GpuVendor; readonly reading: SideReading }[] = [];
  for (const vendor of gpuVendors) {
    const pci = found.filter(({ id }) => id.startsWith(`${pciVendors[vendor].id}:`));
    const others = sides.some(({ reading }) => reading.facts != null);
    sides.push({ vendor, reading: await readers[vendor](io, { pci, others, ofNode, pairs }) });
  }
  if (gpus === undefined) return sides;
  // --gpus selects GPUs of the first vendor that has some.
  const holds = sides.findIndex(({ reading }) => reading.holds);
  const there = holds >= 0 ? holds : sides.findLastIndex(({ reading }) => reading.facts != null);
  return sides.map((side, at) =>
    at === Math.max(there, 0) ? { ...side, reading: side.reading.select(gpus) } : side,
  );
}
