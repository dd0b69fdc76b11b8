/** Reads the AMD part of the facts from sysfs alone. It is loaded only where an AMD GPU or its driver is. */

import { amdTarget, findAmdArchitecture } from "../../hardware/amd-architectures.ts";
import { findAmdProduct, onlyName } from "../../hardware/amd-products.ts";
import { isContainer, readContainerRuntime } from "../container-runtime.ts";
import { factGrammar } from "../../facts/fact-grammar.ts";
import { type AmdFacts, type AmdGpuFacts, computePartitions, type HostProblem } from "../../facts/facts.ts";
import type { SideContext, SideReading } from "../gpu-side.ts";
import type { HostIo } from "../host-io.ts";
import { gpuLabel } from "../../facts/host-problems.ts";
import { type PciGpu, sysfsAddress } from "../pci.ts";
import { pciPath } from "../../facts/facts.ts";
import { knownSources, unknownAmdGpu } from "../../facts/no-facts.ts";
import * as problem from "./amd-problems.ts";
import { applyAmdVisibility } from "./amd-visible-devices.ts";
import { type KfdGpu, kfdPath, mebibytes, readKfd, readPage, readXgmi } from "./kfd.ts";

const modulePath = "/sys/module/amdgpu";

/** Beside GPUs of other vendors a missing GPU of a processor is no problem, nor is it in a container. `gpus` is the value of `--gpus`. */
export function readAmd(
  io: HostIo,
  { pci, others, pairs }: Omit<SideContext, "ofNode">,
  gpus: string | undefined,
): Omit<SideReading<"amd">, "holds" | "select"> {
  // radeon drives cards before GCN, which have no ROCm.
  const cards = pci.filter(({ driver }) => driver !== "radeon");
  const kfd = readKfd(io);
  const isDriven = cards.some(({ driver }) => driver === "amdgpu");
  const loaded = isDriven || io.exists(modulePath) || kfd.gpus.length + kfd.masked > 0;
  if (!loaded && cards.length === 0) return { facts: null, runtime: {}, problems: [], sources: {} };
  const found = kfd.gpus.map((gpu, index) => factsOf(io, gpu, { index, all: kfd.gpus }));
  const reached = reach(io, found, kfd.masked);
  // ROCm numbers the GPUs that it can open.
  const nodes = reached.gpus.map((gpu) => kfd.gpus[found.indexOf(gpu)]);
  const linksTo = (node: KfdGpu | undefined) => (pairs && node ? linksOf(io, node, nodes) : {});
  const listed = reached.gpus.map((gpu, index) => ({ ...gpu, index, ...linksTo(nodes[index]) }));
  const rest =
    kfd.masked > 0 ? [] : cards.filter((card) => !found.some(({ bus }) => bus === sysfsAddress(card.bus)));
  const undriven = loaded ? [] : rest.filter(({ driver }) => driver === null).map(undrivenGpu);
  const visible = applyAmdVisibility(io, [...listed, ...undriven], gpus);
  const driver = readDriver(io);
  const runtime = readContainerRuntime(io, "amd");
  const missed = found.length > 0 ? found : cards.map(undrivenGpu);
  const container = isContainer(io);
  const ofProcessor = missed.length > 0 && missed.every(({ integrated }) => integrated === true);
  const unmissed = ofProcessor && (others || container);
  return {
    facts: { driver: driver.value, ...overrideOf(io), gpus: visible.gpus },
    runtime: { amd: runtime.way },
    problems: [
      ...(unmissed ? [] : [...reached.problems, ...unlisted(rest, container)]),
      // Without the driver the target stays unknown, and a card that is in no table may be too old for any code.
      ...(loaded ? visible.gpus : [])
        .filter(({ target }) => target === null)
        .map((gpu) => problem.targetUnknown(gpuLabel(gpu))),
      ...visible.problems,
    ],
    sources: knownSources({
      "amd.driver": driver.source,
      "amd.gpus": kfd.gpus.length > 0 ? kfdPath : pciPath,
      "amd.visible": visible.source,
      "runtime.amd": runtime.source,
    }),
  };
}

/** `10.3.0` stands for gfx1030. Source: ROCm/ROCR-Runtime, libhsakmt/src/topology.c. */
function overrideOf({ env }: HostIo): Pick<AmdFacts, "override"> {
  const named = /^(\d{1,2})\.(\d{1,2})\.(\d{1,2})$/.exec(env.HSA_OVERRIDE_GFX_VERSION ?? "");
  const [major, minor, stepping] = (named?.slice(1) ?? []).map(Number);
  if (major === undefined || minor === undefined || stepping === undefined) return {};
  const override = amdTarget(major * 10_000 + minor * 100 + stepping);
  return override === null ? {} : { override };
}

function readDriver(io: HostIo) {
  const path = `${modulePath}/version`;
  const version = lineOf(io, path);
  if (factGrammar.amdDriver.test(version)) return { value: version, source: path };
  const own = `${modulePath} (the kernel's own, without a version)`;
  return { value: null, source: io.exists(modulePath) ? own : null };
}

/**
 * Finds the GPUs that ROCm can open: through `/dev/kfd` and their render nodes (libhsakmt, topology.c, topology_sysfs_check_node_supported).
 * A host still has GPUs that it cannot open. A container does not: its sysfs shows the GPUs of the host.
 */
function reach(io: HostIo, gpus: readonly AmdGpuFacts[], masked: number) {
  const container = isContainer(io);
  const [first] = gpus;
  if (first === undefined) return { gpus, problems: masked === 0 ? [] : [problem.masked(masked)] };
  const absent = (device: string) => ({
    gpus: container ? [] : gpus,
    problems: [problem.noDevices(device, container)],
  });
  if (!io.exists("/dev/kfd")) return absent("/dev/kfd");
  if (!io.mayOpen("/dev/kfd")) return { gpus, problems: [problem.noPermission("/dev/kfd", container)] };
  const openable = gpus.filter(({ render }) => render === null || io.mayOpen(render));
  if (openable.length > 0) return { gpus: openable, problems: [] };
  const there = gpus.filter(({ render }) => render !== null && io.exists(render));
  if (there.length === 0) return absent(first.render ?? "/dev/dri");
  return { gpus: there, problems: [problem.noPermission(there[0]?.render ?? "/dev/dri", container)] };
}

function factsOf(
  io: HostIo,
  gpu: KfdGpu,
  { index, all }: { readonly index: number; readonly all: readonly KfdGpu[] },
): AmdGpuFacts {
  const product = findAmdProduct(gpu.pci);
  const target = (gpu.version === null ? product?.target : amdTarget(gpu.version)) ?? null;
  const architecture = target === null ? null : findAmdArchitecture(target);
  const device = gpu.render === null ? null : `/sys/class/drm/${gpu.render.split("/").at(-1)}/device`;
  const read = (name: string) => (device === null ? "" : lineOf(io, `${device}/${name}`));
  // A kernel that does not print the target may be older than the sramecc bit, too.
  const sramecc = gpu.sramecc || (gpu.version === null && architecture?.sramecc !== false ? null : false);
  return {
    index,
    uuid: gpu.uuid,
    name: onlyName(product) ?? (read("product_name") || null),
    target,
    sramecc,
    pci: gpu.pci,
    bus: busOf(device === null ? null : io.readLink(device), gpu, all),
    render: gpu.render,
    memoryMiB: gpu.memoryMiB ?? mebibytes(Number(read("mem_info_vram_total"))),
    partition: partitionOf(read("current_compute_partition"), gpu, all),
    integrated: gpu.processor ? true : (product?.integrated ?? architecture?.integrated ?? null),
  };
}

/** The indexes of the GPUs that XGMI joins to this one. */
function linksOf(
  io: HostIo,
  gpu: KfdGpu,
  nodes: readonly (KfdGpu | undefined)[],
): Pick<AmdGpuFacts, "links"> {
  const peers = readXgmi(io, gpu);
  if (peers === null) return {};
  const isPeer = (each: KfdGpu | undefined) => each !== undefined && peers.includes(each.node);
  return { links: nodes.flatMap((each, index) => (isPeer(each) ? [index] : [])) };
}

function lineOf(io: HostIo, path: string): string {
  const text = readPage(io, path);
  return typeof text === "string" ? text.trim() : "";
}

/** Only the first partition is a PCI device. For the others, the kernel writes their number in place of the function (kfd_topology.c). */
function busOf(link: string | null, gpu: KfdGpu, all: readonly KfdGpu[]): string | null {
  const linked = link?.split("/").at(-1) ?? "";
  if (factGrammar.bus.test(linked)) return linked.toLowerCase();
  const location = Math.min(...siblings(gpu, all).map((each) => each.location));
  const hex = (value: number, digits: number) => value.toString(16).padStart(digits, "0");
  const [bus, device, part] = [Math.floor(location / 256), Math.floor(location / 8) % 32, location % 8];
  const address = `${hex(gpu.domain, 4)}:${hex(bus, 2)}:${hex(device, 2)}.${part}`;
  // Location 0 belongs to a bridge, so it means unknown.
  return location > 0 && factGrammar.bus.test(address) ? address : null;
}

/** All partitions of the card, this GPU included. */
function siblings(gpu: KfdGpu, all: readonly KfdGpu[]): readonly KfdGpu[] {
  const same = all.filter(({ uuid, domain }) => uuid !== null && uuid === gpu.uuid && domain === gpu.domain);
  return same.length === 0 ? [gpu] : same;
}

/** The kernel names the mode of the card. Partitions of one die each are CPX, whatever it says. */
function partitionOf(text: string, gpu: KfdGpu, all: readonly KfdGpu[]): AmdGpuFacts["partition"] {
  const named = computePartitions.find((mode) => mode === text);
  if (named !== undefined) return named;
  return gpu.dies === 1 && siblings(gpu, all).length > 1 ? "CPX" : null;
}

/** A GPU of which nothing but the PCI device is known. */
function undrivenGpu(card: PciGpu, index: number): AmdGpuFacts {
  const product = findAmdProduct(card.id);
  const { target = null, integrated = null } = product ?? {};
  const known = { name: onlyName(product), target, pci: card.id, bus: sysfsAddress(card.bus), integrated };
  return { ...unknownAmdGpu(index), ...known };
}

/** Cards that the compute driver does not list: without a driver, held by another one, or skipped. GPUs that only draw do not count. */
function unlisted(cards: readonly PciGpu[], container: boolean): readonly HostProblem[] {
  const computing = cards.filter(({ id }) => findAmdProduct(id)?.integrated === false);
  const drivenBy = (isDriver: (driver: string | null) => boolean) =>
    computing.filter(({ driver }) => isDriver(driver));
  const [free, left] = [drivenBy((driver) => driver === null), drivenBy((driver) => driver === "amdgpu")];
  const taken = drivenBy((driver) => driver !== null && driver !== "amdgpu");
  const [other] = taken;
  return [
    ...(free.length === 0 ? [] : [problem.noDriver(addressesOf(free), null)]),
    ...(other === undefined ? [] : [problem.noDriver(addressesOf(taken), other.driver)]),
    ...(left.length === 0 || container ? [] : [problem.skipped(addressesOf(left))]),
  ];
}

function addressesOf(cards: readonly PciGpu[]): readonly string[] {
  return cards.map(({ bus }) => sysfsAddress(bus));
}
