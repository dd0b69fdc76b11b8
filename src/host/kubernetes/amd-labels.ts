/**
 * Reads AMD facts from the labels of AMD's node labeller. Source: ROCm/k8s-device-plugin ed764684, cmd/k8s-node-labeller/main.go (createLabels: one
 * value is the label's, several are each a label with their number; `beta.amd.com` has both) and docs/user-guide/configuration.md (resources).
 */

import { findAmdProduct, onlyName } from "../../hardware/amd-products.ts";
import { factGrammar } from "../../facts/fact-grammar.ts";
import { type AmdFacts, type AmdGpuFacts, computePartitions, openGpuFacts } from "../../facts/facts.ts";
import { unknownAmdGpu } from "../../facts/no-facts.ts";
import { gpuCount, type KubernetesNode, labelsBelow, labelsDevice, mostGpus } from "./cluster-objects.ts";
import type { Labels } from "../../facts/named-host.ts";
import { type GpuReport, uncounted } from "./join-sources.ts";

export function amdFromLabels(node: KubernetesNode): GpuReport<AmdFacts> {
  const { labels, amdCapacity } = node;
  const ids = deviceIds(labels);
  if (ids.size === 0) return withoutLabeller(labels, amdCapacity);
  const driver = labels["amd.com/gpu.driver-version"];
  const { gpus, open, counted } = describe(node, ids);
  return {
    counted,
    facts: {
      // The kernel's own driver has no version, and its label is empty.
      driver: driver !== undefined && factGrammar.amdDriver.test(driver) ? driver : null,
      gpus,
      ...(driver === undefined ? { unknown: ["driver"] } : {}),
    },
    unproved: [...open, ...(driver === undefined ? ["the driver's version is not labelled"] : [])],
  };
}

/** Node Feature Discovery labels PCI classes, AMD's operator adds rules, a device plugin announces a capacity. */
function withoutLabeller(labels: Labels, capacity: number | null): GpuReport<AmdFacts> {
  const onBus = labelsDevice(labels, /^(?:pci-(?:(?:03|0b|12)\d\d_)?1002\.|amd-v?gpu$)/);
  if (onBus || (capacity ?? 0) > 0)
    return uncounted(
      { driver: null, gpus: [], unknown: openGpuFacts },
      "an AMD GPU is there and no label names its device: is AMD's node labeller running?",
    );
  return uncounted<AmdFacts>(onBus === null ? undefined : null);
}

/** Device id (`74a1`) → number of GPUs; null if no label tells it. */
function deviceIds(labels: Labels): ReadonlyMap<string, number | null> {
  const [now, before] = ["amd.com/gpu.device-id", "beta.amd.com/gpu.device-id"] as const;
  const only = labels[now];
  if (isId(only)) return new Map([[only, gpuCount(labels[`${before}.${only}`]) || null]]);
  for (const prefix of [now, before]) {
    const counted = labelsBelow(labels, `${prefix}.`).flatMap(([id, value]) => {
      const count = gpuCount(value);
      return isId(id) && count ? [[id, count] as const] : [];
    });
    if (counted.length > 0) return new Map(counted.sort(([a], [b]) => (a < b ? -1 : 1)));
  }
  const old = labels[before];
  return new Map(isId(old) ? [[old, null]] : []);
}

function isId(text: string | undefined): text is string {
  return text !== undefined && /^[0-9a-f]{4}$/.test(text);
}

function describe({ labels, amdCapacity }: KubernetesNode, ids: ReadonlyMap<string, number | null>) {
  const [mode = ""] = (labels["amd.com/gpu.compute-memory-partition"] ?? "").toUpperCase().split("_");
  const partition = computePartitions.find((each) => each === mode) ?? null;
  // Labels count cards, and the capacity counts partitions.
  const parted = partition !== null && partition !== "SPX" && ids.size === 1;
  const open: string[] = [];
  let counted = true;
  const gpus = [...ids].flatMap(([id, labelled]): AmdGpuFacts[] => {
    const count = (parted ? null : labelled) ?? (ids.size === 1 ? amdCapacity || null : null);
    if (count === null) {
      counted = false;
      open.push(`how many ${parted ? "partitions" : "GPUs"} there are is not labelled`);
    }
    const product = findAmdProduct(`1002:${id}`);
    if (product === null) open.push(`no table has the device 1002:${id}, so its target is unknown`);
    const gpu = {
      ...unknownAmdGpu(0),
      name: onlyName(product),
      target: product?.target ?? null,
      pci: `1002:${id}`,
      partition,
      integrated: product?.integrated ?? null,
    };
    return Array.from({ length: count ?? 1 }, () => gpu);
  });
  return { gpus: gpus.slice(0, mostGpus).map((gpu, index) => ({ ...gpu, index })), open, counted };
}
