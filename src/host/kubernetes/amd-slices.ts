/**
 * Reads AMD facts from the devices of ResourceSlices and from PCI ids.
 * Source: ROCm/k8s-gpu-dra-driver 06dbe583, docs/driver-attributes.md, and 26224272, cmd/gpu-kubeletplugin (deviceinfo.go, discovery.go).
 */

import { findAmdArchitecture } from "../../hardware/amd-architectures.ts";
import { type AmdProduct, amdProducts, findAmdProduct, onlyName } from "../../hardware/amd-products.ts";
import { groupBy } from "../../io/collections.ts";
import { factGrammar } from "../../facts/fact-grammar.ts";
import { type AmdFacts, type AmdGpuFacts, computePartitions } from "../../facts/facts.ts";
import { mostGpus } from "./cluster-objects.ts";
import type { GpuReport } from "./join-sources.ts";
import { busAttribute, type SlicedDevice, type SlicedNode, slicedFacts } from "./resource-slices.ts";

export function amdFromSlices(node: SlicedNode): GpuReport<AmdFacts> {
  const devices = node.devices.filter(({ attributes: { type = "" } }) => /^amdgpu(-partition)?$/.test(type));
  // With partitions on demand, each way to divide a card is a device.
  const onDemand = devices.filter(({ attributes }) => attributes.computePartition !== undefined);
  const fixed = devices.filter(({ attributes }) => attributes.computePartition === undefined);
  const cards = groupBy(
    onDemand,
    ({ name, attributes }) => attributes.gpuIndex ?? attributes[busAttribute] ?? name,
  );
  const gpus = [
    ...fixed.map((device) => gpuOf(device)),
    ...[...cards.values()].flatMap(([first]) =>
      first === undefined ? [] : [{ ...gpuOf(first), memoryMiB: null, partition: null }],
    ),
  ];
  const { facts, open } = slicedFacts({ ...node, devices }, gpus, (attributes) => {
    const versions = [attributes.driverVersionFull, attributes.driverVersion];
    return versions.find((each) => each !== undefined && factGrammar.amdDriver.test(each)) ?? null;
  });
  const withoutTarget = gpus
    .filter(({ target }) => target === null)
    .map(({ name, pci }) => name ?? pci ?? "without a name");
  return {
    facts,
    counted: onDemand.length === 0,
    unproved: [
      ...open,
      ...(withoutTarget.length > 0
        ? [`no ResourceSlice tells the target of an AMD GPU ${[...new Set(withoutTarget)].join(", ")}`]
        : []),
    ],
  };
}

function gpuOf({ attributes, memoryMiB }: SlicedDevice): AmdGpuFacts {
  const { deviceID = "", productName, partitionProfile = "" } = attributes;
  const pci = /^0x[0-9a-f]{4}$/i.test(deviceID) ? `1002:${deviceID.slice(2).toLowerCase()}` : null;
  const product = pci === null ? null : findAmdProduct(pci);
  const target = product?.target ?? (productName === undefined ? null : targetOfName(productName));
  const architecture = target === null ? null : findAmdArchitecture(target);
  return {
    index: 0,
    uuid: uniqueId(deviceID),
    name: onlyName(product) ?? productName?.replaceAll("_", " ") ?? null,
    target,
    sramecc: architecture?.sramecc === false ? false : null,
    pci,
    bus:
      (attributes[busAttribute] ?? attributes.pciAddr ?? attributes.parentPciAddr ?? "").toLowerCase() ||
      null,
    render: factGrammar.render.test(`/dev/dri/renderD${attributes.renderIndex}`)
      ? `/dev/dri/renderD${attributes.renderIndex}`
      : null,
    memoryMiB,
    partition:
      computePartitions.find((mode) => mode === partitionProfile.split("_")[0]?.toUpperCase()) ?? null,
    integrated: product?.integrated ?? architecture?.integrated ?? null,
  };
}

/** Before 1.0 the driver wrote the card's unique number as its `deviceID`, in decimal. */
function uniqueId(deviceId: string): string | null {
  if (!/^[1-9]\d{9,19}$/.test(deviceId)) return null;
  return `GPU-${BigInt(deviceId).toString(16).padStart(16, "0")}`;
}

/** `AMD_Instinct_MI300X_OAM`: the driver writes underscores for blanks, and adds the form of the board. */
function targetOfName(name: string): string | null {
  const wanted = plainName(name);
  const targets = new Set(amdProducts.filter((row) => isNamed(row, wanted)).map(({ target }) => target));
  const [only = null, ...others] = targets;
  return others.length === 0 ? only : null;
}

/** Regular expressions for the driver's names of GPUs with these targets, in lower case with blanks; null if there are none. */
export function amdWords(targets: readonly string[]): {
  readonly deviceId: string | null;
  readonly productName: string | null;
} {
  const rows = amdProducts.filter(({ target }) => targets.includes(target));
  const names = new Set(rows.flatMap((row) => row.names.map(plainName)));
  const telling = [...names].filter((name) => targets.includes(targetOfName(name) ?? "")).sort();
  const oneOf = (words: readonly string[], end: string) =>
    words.length === 0 ? null : `(${words.join("|")})${end}$`;
  const ids = oneOf(rows.map(({ id }) => id.replace("1002:", "")).sort(), "");
  const name = oneOf(
    telling.map((each) => each.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")),
    "( oam)?",
  );
  return {
    deviceId: ids === null ? null : `^0x${ids}`,
    productName: name === null ? null : `^${name}`,
  };
}

function isNamed({ names }: AmdProduct, wanted: string): boolean {
  return names.some((name) => plainName(name) === wanted);
}

function plainName(name: string): string {
  return name
    .toLowerCase()
    .replace(/[\s_]+/g, " ")
    .replace(/ oam$/, "")
    .trim();
}

/** Facts from `vendor:device` of each GPU: undefined if nobody looked, null if there is none. */
export function amdFromPci(ids: readonly string[] | null | undefined): AmdFacts | null | undefined {
  const ours = ids?.filter((id) => id.startsWith("1002:")).slice(0, mostGpus);
  if (ours === undefined || ours.length === 0) return ours === undefined ? undefined : null;
  const gpus = ours.map((id, index) => {
    const deviceID = id.replace("1002:", "0x");
    return { ...gpuOf({ name: id, attributes: { deviceID }, memoryMiB: null }), index };
  });
  return { driver: null, gpus, unknown: ["driver"] };
}
