/**
 * Reads NVIDIA facts from the labels of GPU Feature Discovery, and from the PCI ids of Node Feature Discovery.
 * Source: NVIDIA/k8s-device-plugin 1b826acc, internal/lm (nvml.go: versions; resource.go: product, memory, compute capability).
 */

import { type GpuFacts, type NvidiaFacts, openGpuFacts } from "../../facts/facts.ts";
import { cudaUnder } from "../../hardware/cuda-toolkits.ts";
import { gpuOfProduct } from "../nvidia/complete-gpus.ts";
import { unknownNvidia } from "../../facts/no-facts.ts";
import { gpuCount, isNumber, type KubernetesNode, labelsDevice, mostGpus } from "./cluster-objects.ts";
import type { Labels } from "../../facts/named-host.ts";
import { type GpuReport, uncounted } from "./join-sources.ts";

export async function nvidiaFromLabels({
  labels,
  gpuCapacity,
}: KubernetesNode): Promise<GpuReport<NvidiaFacts>> {
  const driver = driverVersion(labels);
  const product = labels["nvidia.com/gpu.product"];
  if (driver === null && product === undefined) return withoutDiscovery(labels, gpuCapacity);
  if (isMigInvalid(labels)) {
    const unknown = driver === null ? openGpuFacts : (["gpus"] as const);
    return uncounted(
      { ...unknownNvidia, driver, cuda: cudaVersion(labels, driver), unknown },
      "the product is labelled MIG-INVALID: GPUs are in MIG mode without an instance, have several profiles, or are not all in that mode",
    );
  }
  const { name, mig } = readProduct(product ?? "");
  const gpu = await describe(labels, name);
  const count = mig ? 1 : countOf(labels, gpuCapacity);
  const gpus = Array.from({ length: count }, (_, index) => ({ ...gpu, index }));
  return {
    facts: {
      ...unknownNvidia,
      ...{ driver, cuda: cudaVersion(labels, gpu.class === "tegra" ? null : driver), gpus },
      ...(driver === null ? { unknown: ["driver"] } : {}),
    },
    counted: !mig && isNumber(labels["nvidia.com/gpu.count"]),
    unproved: [
      ...(count > 1 ? [`one product is labelled for ${count} GPUs: that all are alike is not proved`] : []),
      ...(mig ? ["the GPUs are partitioned: how many there are is not labelled"] : []),
      ...(driver === null ? ["the driver's version is not labelled"] : []),
      ...(gpu.compute === null ? ["the compute capability is not labelled and the product is unknown"] : []),
    ],
  };
}

/** The strategy `single` found no instance, several profiles, or GPUs outside of MIG mode too (internal/lm, TestMigStrategySingleLabels). */
export function isMigInvalid(labels: Labels): boolean {
  return labels["nvidia.com/gpu.product"]?.endsWith("-MIG-INVALID") === true;
}

/** Without GPU Feature Discovery: Node Feature Discovery labels PCI classes, a device plugin announces a capacity. */
function withoutDiscovery(labels: Labels, gpuCapacity: number | null): GpuReport<NvidiaFacts> {
  const onBus = labelsDevice(labels, /^pci-(03\d\d_)?10de\./);
  if (onBus || labels["nvidia.com/gpu.present"] === "true" || (gpuCapacity ?? 0) > 0)
    return uncounted(
      { ...unknownNvidia, unknown: openGpuFacts },
      "an NVIDIA device is there and no driver is labelled: is GPU Feature Discovery running?",
    );
  return onBus === null
    ? uncounted<NvidiaFacts>(
        undefined,
        "no label names PCI devices: that there is no NVIDIA GPU is not proved",
      )
    : uncounted<NvidiaFacts>(null);
}

/** The whole version, or its parts under their names since or before GFD 0.15. */
function driverVersion(labels: Labels): string | null {
  const full = labels["nvidia.com/cuda.driver-version.full"];
  if (full !== undefined && /^\d+(\.\d+){1,2}$/.test(full)) return full;
  for (const [stem, third] of [
    ["nvidia.com/cuda.driver-version", "revision"],
    ["nvidia.com/cuda.driver", "rev"],
  ]) {
    const parts = [labels[`${stem}.major`], labels[`${stem}.minor`], labels[`${stem}.${third}`]];
    const [major, minor, revision] = parts;
    if (!isNumber(major) || !isNumber(minor)) continue;
    return [major, minor, ...(isNumber(revision) ? [revision] : [])].join(".");
  }
  return null;
}

/** The driver's CUDA version, which these labels call the runtime's. A compatibility package in the labeller's container may have told it. */
function cudaVersion(labels: Labels, driver: string | null): string | null {
  for (const stem of ["nvidia.com/cuda.runtime-version", "nvidia.com/cuda.runtime"]) {
    const [major, minor] = [labels[`${stem}.major`], labels[`${stem}.minor`]];
    const version = `${major}.${minor}`;
    if (/^\d{1,3}\.\d{1,2}$/.test(version)) return cudaUnder(driver, version);
  }
  return null;
}

/** `NVIDIA-A100-SXM4-40GB-MIG-1g.5gb-SHARED`: dashes stand for blanks, and suffixes tell how the GPU is divided. */
function readProduct(label: string): { readonly name: string | null; readonly mig: boolean } {
  const whole = label.replace(/-SHARED$/, "");
  const name = whole.replace(/-MIG-.*$/, "");
  return { name: name === "" ? null : name.replaceAll("-", " "), mig: name !== whole };
}

async function describe(labels: Labels, name: string | null): Promise<GpuFacts> {
  const [major, minor] = [labels["nvidia.com/gpu.compute.major"], labels["nvidia.com/gpu.compute.minor"]];
  const memory = labels["nvidia.com/gpu.memory"];
  const gpu = await gpuOfProduct(null, name);
  return {
    ...gpu,
    compute: /^[1-9]\d?\.\d$/.test(`${major}.${minor}`) ? `${major}.${minor}` : gpu.compute,
    memoryMiB: isNumber(memory) ? Number(memory) : null,
  };
}

function countOf(labels: Labels, gpuCapacity: number | null): number {
  const count = gpuCount(labels["nvidia.com/gpu.count"]) ?? 0;
  if (count > 0) return count;
  // Shared GPUs count more than once in the capacity.
  const shared = /-SHARED$/.test(labels["nvidia.com/gpu.product"] ?? "");
  return shared || gpuCapacity === null ? 1 : Math.max(gpuCapacity, 1);
}

/** Facts from `vendor:device` of each GPU: undefined if nobody looked, null if there is none. */
export async function nvidiaFromPci(
  ids: readonly string[] | null | undefined,
): Promise<NvidiaFacts | null | undefined> {
  const ours = ids?.filter((id) => id.startsWith("10de:")).slice(0, mostGpus);
  if (ours === undefined || ours.length === 0) return ours === undefined ? undefined : null;
  const gpus = await Promise.all(
    ours.map(async (pci, index) => ({ ...(await gpuOfProduct(pci, null)), index })),
  );
  return { ...unknownNvidia, gpus, unknown: ["driver"] };
}
