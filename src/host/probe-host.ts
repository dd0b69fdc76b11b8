/** Probes a machine: CPU, drivers, GPUs and container runtime. */

import { isWsl } from "./container-runtime.ts";
import type { AmdOptions, AmdPart } from "./amd/amd-facts.ts";
import { readCpu } from "./cpu/cpu-facts.ts";
import { kernelNumber, withinGrammar } from "./fact-grammar.ts";
import { factsSchemaVersion, type HostFacts } from "./facts.ts";
import { type HostIo, textOf } from "./host-io.ts";
import { readNvidiaRuntime, readUvm } from "./nvidia/container-toolkit.ts";
import { withStateProblems } from "./nvidia/broken-states.ts";
import { readNvidia } from "./nvidia/nvidia-facts.ts";
import { applyVisibility } from "./nvidia/visible-devices.ts";
import { type PciGpu, readPciGpus } from "./pci.ts";
import { knownSources } from "./no-facts.ts";

export interface ProbeOptions {
  /** Visible GPUs: `0,2`, uuids, `all`. Replaces the environment's `…_VISIBLE_DEVICES`. */
  readonly gpus?: string;
  /** Describe the node for the containers that others start there: a device that only this process's own container lacks is no fault. */
  readonly ofNode?: boolean;
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
  return withStateProblems(withinGrammar(await readMachine(io, options)));
}

async function readMachine(io: HostIo, options: ProbeOptions): Promise<HostFacts> {
  if (io.platform !== "linux") {
    const { probeOtherSystem } = await import("./other-systems.ts");
    return probeOtherSystem(io, ociArchitecture(io));
  }
  const architecture = ociArchitecture(io);
  const kernel = kernelNumber(textOf(io, "/proc/sys/kernel/osrelease") ?? "");
  const cpu = readCpu(io, architecture, kernel);
  const pci = readPciGpus(io);
  const nvidia = await readNvidia(io, ofVendor(pci, "10de"));
  const runtime = readNvidiaRuntime(io);
  const found = nvidia.facts?.gpus ?? [];
  const amd = await probeAmd(io, ofVendor(pci, "1002"), {
    gpus: found.length === 0 ? options.gpus : undefined,
    others: nvidia.facts !== null,
  });
  // --gpus selects AMD GPUs if the host has no others.
  const ofAmd = found.length === 0 && amd?.facts != null;
  const visible = applyVisibility(io, found, ofAmd ? undefined : options.gpus);
  // WSL2 and Jetson have other devices.
  const uvm = options.ofNode || nvidia.facts?.driverScale !== undefined ? undefined : readUvm(io);
  return {
    schemaVersion: factsSchemaVersion,
    platform: `linux/${architecture}`,
    kernel,
    cpu: cpu.facts,
    nvidia:
      nvidia.facts === null
        ? null
        : { ...nvidia.facts, ...(uvm === undefined ? {} : { uvm }), gpus: visible.gpus },
    amd: amd === null && isWsl(io) ? undefined : (amd?.facts ?? null),
    runtime: {
      ...runtime.facts,
      ...(amd?.runtime == null ? {} : { amd: amd.runtime.way }),
    },
    problems: [...cpu.problems, ...nvidia.problems, ...visible.problems, ...(amd?.problems ?? [])],
    sources: {
      ...cpu.sources,
      ...nvidia.sources,
      ...knownSources({ "nvidia.visible": visible.source }),
      ...runtime.sources,
      ...amd?.sources,
    },
  };
}

function ofVendor(pci: readonly PciGpu[], vendor: string): readonly PciGpu[] {
  return pci.filter(({ id }) => id.startsWith(`${vendor}:`));
}

/** null without an AMD GPU and its driver: most machines need not load the reader. */
async function probeAmd(io: HostIo, pci: readonly PciGpu[], options: AmdOptions): Promise<AmdPart | null> {
  if (pci.length === 0 && !["/sys/class/kfd", "/sys/module/amdgpu"].some(io.exists)) return null;
  const { readAmd } = await import("./amd/amd-facts.ts");
  return readAmd(io, pci, options);
}

/** Node.js names of architectures → OCI names (GOARCH), where they differ. */
const architectures: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386", mipsel: "mipsle" };

function ociArchitecture({ arch, endianness }: HostIo): string {
  if (arch === "ppc64") return endianness === "LE" ? "ppc64le" : "ppc64";
  return Object.hasOwn(architectures, arch) ? (architectures[arch] ?? arch) : arch;
}
