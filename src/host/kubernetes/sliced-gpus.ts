/**
 * GPU facts from the devices of ResourceSlices.
 * Sources: kubernetes-sigs/dra-driver-nvidia-gpu 95932046, cmd/gpu-kubelet-plugin (deviceinfo.go, mig.go, nvlib.go);
 * ROCm/k8s-gpu-dra-driver 06dbe583, docs/driver-attributes.md, and 26224272, cmd/gpu-kubeletplugin (deviceinfo.go, discovery.go).
 */

import { findAmdArchitecture } from "../../hardware/amd-architectures.ts";
import { type AmdProduct, amdProducts, findAmdProduct } from "../../hardware/amd-products.ts";
import { classifyGpu } from "../../hardware/gpu-class.ts";
import { findGpuByName, findGpuByPci } from "../../hardware/gpu-products.ts";
import { groupBy } from "../../io/collections.ts";
import { type FactForm, factGrammar } from "../fact-grammar.ts";
import {
  type AmdFacts,
  type AmdGpuFacts,
  computePartitions,
  type GpuFacts,
  type NvidiaFacts,
  type OpenGpuFact,
} from "../facts.ts";
import { formatBus } from "../pci.ts";
import { unknownGpu } from "../unknown-facts.ts";
import type { ToldGpus } from "./join-sources.ts";
import { mostGpus } from "./nvidia-labels.ts";
import type { SlicedDevice, SlicedNode } from "./resource-slices.ts";

const bus = "resource.kubernetes.io/pciBusID";

export async function nvidiaFromSlices(node: SlicedNode): Promise<ToldGpus<NvidiaFacts>> {
  // A device for a virtual machine is no GPU of a container.
  const devices = node.devices.filter(({ attributes: { type } }) => type === "gpu" || type === "mig");
  const cards = groupBy(devices, cardOfNvidia);
  const gpus = await Promise.all([...cards.values()].map(nvidiaGpu));
  const driver = common(devices, ({ driverVersion = "" }) => nvidiaVersion(driverVersion));
  const cuda = common(devices, ({ cudaDriverVersion = "" }) =>
    majorMinor(cudaDriverVersion, factGrammar.cuda),
  );
  const placements = devices.some(({ attributes: { type, uuid } }) => type === "mig" && uuid === undefined);
  const lacking = gaps(node, devices, driver.value);
  return {
    facts: {
      ...{ driver: driver.value, module: null, library: null, cuda: cuda.value },
      gpus: lacking.unknown.includes("gpus") ? [] : gpus.map((gpu, index) => ({ ...gpu, index })),
      ...(lacking.unknown.length > 0 ? { unknown: lacking.unknown } : {}),
    },
    counted: true,
    open: [
      ...lacking.open,
      ...(driver.several === null ? [] : [`the ResourceSlices name several drivers: ${driver.several}`]),
      ...(placements
        ? ["the GPUs are partitioned on demand: no ResourceSlice tells which partitions are there"]
        : []),
      ...(gpus.some(({ compute }) => compute === null)
        ? ["a ResourceSlice does not tell the compute capability, and the product is unknown"]
        : []),
    ],
  };
}

/** The devices of one card: itself and its MIG instances, which exist, or could. */
function cardOfNvidia({ name, attributes: { type, uuid, parentUUID } }: SlicedDevice): string {
  return (type === "mig" ? parentUUID : uuid) ?? name;
}

async function nvidiaGpu(devices: readonly SlicedDevice[]): Promise<GpuFacts> {
  const whole = devices.find(({ attributes }) => attributes.type === "gpu");
  const { attributes = {} } = whole ?? devices[0] ?? {};
  const { productName, cudaComputeCapability = "" } = attributes;
  const product = productName === undefined ? null : await findGpuByName(productName);
  const { class: kind } = product ?? {};
  return {
    ...unknownGpu(0),
    uuid: (whole === undefined ? attributes.parentUUID : attributes.uuid) ?? null,
    name: productName ?? null,
    compute: majorMinor(cudaComputeCapability, factGrammar.compute) ?? product?.compute ?? null,
    bus: formatBus(attributes[bus] ?? ""),
    // That of an instance is its own.
    memoryMiB: whole?.memoryMiB ?? null,
    class: kind === undefined || kind === "unknown" ? classifyGpu(productName ?? "") : kind,
    mig: devices.flatMap(({ attributes: { type, uuid, profile } }) =>
      type === "mig" && uuid !== undefined && profile !== undefined ? [{ uuid, profile }] : [],
    ),
  };
}

/**
 * The driver writes its version as a semantic one, without leading zeros and always with three parts: `570.124.6` is 570.124.06, and
 * `580.142.0` is 580.142.
 */
function nvidiaVersion(text: string): string | null {
  const [, branch, minor, patch = ""] = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/.exec(text) ?? [];
  if (branch === undefined) return null;
  return [branch, minor, ...(patch === "0" ? [] : [patch.padStart(2, "0")])].join(".");
}

/** `9.0.0` → `9.0` */
function majorMinor(text: string, grammar: FactForm): string | null {
  const short = text.replace(/^(\d+\.\d+)\.0$/, "$1");
  return grammar.test(short) ? short : null;
}

export function amdFromSlices(node: SlicedNode): ToldGpus<AmdFacts> {
  const devices = node.devices.filter(({ attributes: { type = "" } }) => /^amdgpu(-partition)?$/.test(type));
  // With partitions on demand each way to divide a card is a device, and one of them can be.
  const onDemand = devices.filter(({ attributes }) => attributes.computePartition !== undefined);
  const fixed = devices.filter(({ attributes }) => attributes.computePartition === undefined);
  const cards = groupBy(onDemand, ({ name, attributes }) => attributes.gpuIndex ?? attributes[bus] ?? name);
  const gpus = [
    ...fixed.map((device) => amdGpu(device)),
    ...[...cards.values()].flatMap(([first]) =>
      first === undefined ? [] : [{ ...amdGpu(first), memoryMiB: null, partition: null }],
    ),
  ];
  const driver = common(
    devices,
    ({ driverVersionFull, driverVersion = "" }) =>
      [driverVersionFull, driverVersion].find(
        (each) => each !== undefined && factGrammar.driver.test(each),
      ) ?? null,
  );
  const lacking = gaps(node, devices, driver.value);
  const untold = gpus
    .filter(({ target }) => target === null)
    .map(({ name, pci }) => name ?? pci ?? "without a name");
  return {
    facts: {
      driver: driver.value,
      gpus: lacking.unknown.includes("gpus") ? [] : gpus.map((gpu, index) => ({ ...gpu, index })),
      ...(lacking.unknown.length > 0 ? { unknown: lacking.unknown } : {}),
    },
    counted: onDemand.length === 0,
    open: [
      ...lacking.open,
      ...(driver.several === null ? [] : [`the ResourceSlices name several drivers: ${driver.several}`]),
      ...(untold.length > 0
        ? [`no ResourceSlice tells the target of an AMD GPU ${[...new Set(untold)].join(", ")}`]
        : []),
    ],
  };
}

function amdGpu({ attributes, memoryMiB }: SlicedDevice): AmdGpuFacts {
  const { deviceID = "", productName, partitionProfile = "" } = attributes;
  const pci = /^0x[0-9a-f]{4}$/i.test(deviceID) ? `1002:${deviceID.slice(2).toLowerCase()}` : null;
  const product = pci === null ? null : findAmdProduct(pci);
  const target = product?.target ?? (productName === undefined ? null : targetOfName(productName));
  const architecture = target === null ? null : findAmdArchitecture(target);
  const [only, ...others] = product?.names ?? [];
  return {
    index: 0,
    uuid: uniqueId(deviceID),
    name: others.length === 0 && only !== undefined ? only : (productName?.replaceAll("_", " ") ?? null),
    target,
    sramecc: architecture?.sramecc === false ? false : null,
    pci,
    bus: (attributes[bus] ?? attributes.pciAddr ?? attributes.parentPciAddr ?? "").toLowerCase() || null,
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

/** `AMD_Instinct_MI300X_OAM`: the driver writes low lines for blanks, and the board says how it is mounted. */
function targetOfName(name: string): string | null {
  const wanted = plainName(name);
  const targets = new Set(amdProducts.filter((row) => isNamed(row, wanted)).map(({ target }) => target));
  const [only = null, ...others] = targets;
  return others.length === 0 ? only : null;
}

/** Regular expressions of what the driver calls GPUs of these targets, in small letters with blanks; null where nothing tells them. */
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

/** The facts that `vendor:device` of each GPU tells: undefined where nobody looked, null where there is none. */
export async function nvidiaFromPci(
  ids: readonly string[] | null | undefined,
): Promise<NvidiaFacts | null | undefined> {
  const own = ids?.filter((id) => id.startsWith("10de:"));
  if (own === undefined || own.length === 0) return own === undefined ? undefined : null;
  const gpus = own.slice(0, mostGpus).map(async (pci, index) => {
    const product = await findGpuByPci(pci);
    const { name = null, compute = null, class: kind = "unknown" } = product ?? {};
    return { ...unknownGpu(index), name, compute, pci, class: kind };
  });
  return {
    driver: null,
    module: null,
    library: null,
    cuda: null,
    gpus: await Promise.all(gpus),
    unknown: ["driver"],
  };
}

export function amdFromPci(ids: readonly string[] | null | undefined): AmdFacts | null | undefined {
  const own = ids?.filter((id) => id.startsWith("1002:"));
  if (own === undefined || own.length === 0) return own === undefined ? undefined : null;
  const gpus = own.slice(0, mostGpus).map((id, index) => {
    const deviceID = id.replace("1002:", "0x");
    return { ...amdGpu({ name: id, attributes: { deviceID }, memoryMiB: null }), index };
  });
  return { driver: null, gpus, unknown: ["driver"] };
}

/** A fact of all devices; `several` where they differ. */
function common(
  devices: readonly SlicedDevice[],
  read: (attributes: SlicedDevice["attributes"]) => string | null,
): { readonly value: string | null; readonly several: string | null } {
  const values = [...new Set(devices.flatMap(({ attributes }) => read(attributes) ?? []))];
  const [only = null, ...others] = values;
  return others.length === 0 ? { value: only, several: null } : { value: null, several: values.join(", ") };
}

function gaps({ whole }: SlicedNode, devices: readonly SlicedDevice[], driver: string | null) {
  const unlisted = !whole || devices.length === 0;
  const unknown: readonly OpenGpuFact[] = [
    ...(driver === null ? (["driver"] as const) : []),
    ...(unlisted ? (["gpus"] as const) : []),
  ];
  const open = !whole
    ? ["ResourceSlices of the node are missing, or are not whole: which GPUs it has is not told"]
    : devices.length === 0
      ? ["the ResourceSlices of the node list no GPU for containers: why is not told"]
      : driver === null
        ? ["no ResourceSlice tells the driver's version"]
        : [];
  return { unknown, open };
}
