/**
 * Reads ResourceSlices of the DRA drivers of GPUs: the devices of a node, and whether the driver published all of them.
 * Sources: Kubernetes API, resource.k8s.io/v1, ResourceSlice ("A consumer must only use ResourceSlices with the highest generation number";
 * "should check the number of ResourceSlices in a pool"); v1beta2 has the same form, and v1beta1 an object `basic` around it.
 */

import { fieldsOf, text } from "../../io/json.ts";
import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import type { OpenGpuFact } from "../../facts/facts.ts";

/** `gpu.nvidia.com`, `gpu.amd.com`. */
export type GpuDriver = `gpu.${GpuVendor}.com`;
const gpuDrivers = gpuVendors.map((vendor): GpuDriver => `gpu.${vendor}.com`);

/** A device with its attributes. The driver's own attributes have no domain in their names. */
export interface SlicedDevice {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** null if unknown; some drivers write 0 for that. */
  readonly memoryMiB: number | null;
}

export interface ResourceSlice {
  readonly driver: GpuDriver;
  readonly node: string;
  readonly pool: string;
  readonly generation: number;
  /** How many slices of this generation the pool has. */
  readonly count: number;
  /** null if the API does not allow them. */
  readonly devices: readonly SlicedDevice[] | null;
}

/** A node, as a driver reports it: the devices of the newest generation of each pool. `whole` if none is missing. */
export interface SlicedNode {
  readonly devices: readonly SlicedDevice[];
  readonly whole: boolean;
}

/** The API allows no more in a slice (resource.k8s.io/v1, ResourceSliceMaxDevices). */
const mostDevices = 128;

/** null for a slice of another driver, and for a slice without a node: such a slice has no GPU of the drivers. */
export function readSlice(object: Readonly<Record<string, unknown>>): ResourceSlice | null {
  const { driver: name, nodeName, pool, devices } = fieldsOf(object.spec);
  const driver = gpuDrivers.find((each) => each === name);
  if (driver === undefined || typeof nodeName !== "string") return null;
  const { name: poolName, generation, resourceSliceCount } = fieldsOf(pool);
  return {
    driver,
    node: nodeName,
    pool: text(poolName) ?? nodeName,
    generation: wholeNumber(generation) ?? 0,
    count: wholeNumber(resourceSliceCount) ?? 0,
    devices: readDevices(devices ?? [], driver),
  };
}

/** null if the node has no slice of the driver. */
export function slicedNode(slices: readonly ResourceSlice[], driver: GpuDriver): SlicedNode | null {
  const pools = new Map<string, ResourceSlice[]>();
  for (const slice of slices) {
    if (slice.driver !== driver) continue;
    const [newest] = pools.get(slice.pool) ?? [];
    if (newest === undefined || slice.generation > newest.generation) pools.set(slice.pool, [slice]);
    else if (slice.generation === newest.generation) pools.get(slice.pool)?.push(slice);
  }
  if (pools.size === 0) return null;
  const all = [...pools.values()].map((pool) => {
    const devices = pool.flatMap((slice) => slice.devices ?? []);
    const named = new Set(devices.map(({ name }) => name));
    const isComplete = pool.every((slice) => slice.devices !== null && slice.count === pool.length);
    // Kubernetes ignores a pool with two devices of one name.
    return { devices, whole: isComplete && named.size === devices.length };
  });
  return {
    devices: all.flatMap(({ devices }) => devices).sort(byName),
    whole: all.every(({ whole }) => whole),
  };
}

/** `gpu-10` after `gpu-9`. */
function byName(a: SlicedDevice, b: SlicedDevice): number {
  return a.name.localeCompare(b.name, "en", { numeric: true });
}

function readDevices(devices: unknown, driver: GpuDriver): readonly SlicedDevice[] | null {
  if (!Array.isArray(devices) || devices.length > mostDevices) return null;
  const read = devices.map((device) => readDevice(fieldsOf(device), driver));
  return read.every((device) => device !== null) ? read : null;
}

function readDevice(device: Readonly<Record<string, unknown>>, driver: GpuDriver): SlicedDevice | null {
  const { attributes, capacity } = fieldsOf(device.basic ?? device);
  const own = (name: string) => (name.startsWith(`${driver}/`) ? name.slice(driver.length + 1) : name);
  const memory = Object.entries(fieldsOf(capacity)).find(([name]) => own(name) === "memory")?.[1];
  if (typeof device.name !== "string") return null;
  return {
    name: device.name,
    attributes: Object.fromEntries(
      Object.entries(fieldsOf(attributes)).flatMap(([name, value]) => {
        const { string, version, int, bool } = fieldsOf(value);
        const scalar = string ?? version ?? int ?? bool;
        return scalar === undefined || typeof scalar === "object" ? [] : [[own(name), String(scalar)]];
      }),
    ),
    memoryMiB: mebibytes(fieldsOf(memory).value),
  };
}

export const busAttribute = "resource.kubernetes.io/pciBusID";

/** The different values of a fact among devices. */
export function valuesOf(
  devices: readonly SlicedDevice[],
  read: (attributes: SlicedDevice["attributes"]) => string | null,
): readonly string[] {
  return [...new Set(devices.flatMap(({ attributes }) => read(attributes) ?? []))];
}

/** Driver and GPUs of a vendor's devices, and the sentences that name unknown facts. */
export function slicedFacts<Gpu>(
  { whole, devices }: SlicedNode,
  gpus: readonly Gpu[],
  readDriver: (attributes: SlicedDevice["attributes"]) => string | null,
) {
  const drivers = valuesOf(devices, readDriver);
  const driver = drivers.length === 1 ? (drivers[0] ?? null) : null;
  const unlisted = !whole || devices.length === 0;
  const unknown: readonly OpenGpuFact[] = [
    ...(driver === null ? (["driver"] as const) : []),
    ...(unlisted ? (["gpus"] as const) : []),
  ];
  return {
    facts: {
      driver,
      gpus: unlisted ? [] : gpus.map((gpu, index) => ({ ...gpu, index })),
      ...(unknown.length > 0 ? { unknown } : {}),
    },
    open: [
      ...openSentence(whole, devices.length, driver),
      ...(drivers.length > 1 ? [`the ResourceSlices name several drivers: ${drivers.join(", ")}`] : []),
    ],
  };
}

function openSentence(whole: boolean, devices: number, driver: string | null): readonly string[] {
  if (!whole)
    return ["ResourceSlices of the node are missing, or are not whole: which GPUs it has is not told"];
  if (devices === 0) return ["the ResourceSlices of the node list no GPU for containers: why is not told"];
  return driver === null ? ["no ResourceSlice tells the driver's version"] : [];
}

const units: Readonly<Record<string, number>> = {
  "": 1 / 2 ** 20,
  Ki: 1 / 2 ** 10,
  Mi: 1,
  Gi: 2 ** 10,
  Ti: 2 ** 20,
  k: 1e3 / 2 ** 20,
  M: 1e6 / 2 ** 20,
  G: 1e9 / 2 ** 20,
  T: 1e12 / 2 ** 20,
};

/** `80Gi` → 81920. */
function mebibytes(quantity: unknown): number | null {
  const [, number = "", unit = ""] = /^(\d{1,15})(Ki|Mi|Gi|Ti|k|M|G|T)?$/.exec(String(quantity)) ?? [];
  const size = Math.floor(Number(number) * (units[unit] ?? 0));
  return size > 0 && Number.isSafeInteger(size) ? size : null;
}

function wholeNumber(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
