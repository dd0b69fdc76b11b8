/**
 * ResourceSlices and DeviceClasses as the DRA drivers of GPUs publish them. Sources: kubernetes-sigs/dra-driver-nvidia-gpu 95932046,
 * cmd/gpu-kubelet-plugin (deviceinfo.go, mig.go) and deployments/helm; ROCm/k8s-gpu-dra-driver 26224272, cmd/gpu-kubeletplugin/deviceinfo.go
 * and helm-charts-k8s; kubernetes-sigs/dra-example-driver, internal/profiles/gpu.
 */

import type { KubernetesObject } from "../../node/launch/support/kubernetes-objects.ts";

export interface Device {
  readonly name: string;
  readonly attributes: Readonly<Record<string, object>>;
  readonly capacity: Readonly<Record<string, { readonly value: string }>>;
}

/** Versions as the driver writes them: three parts, no leading zeros. */
export interface NvidiaDriver {
  readonly driver: string;
  readonly cuda: string;
}

export interface NvidiaCard {
  readonly product: string;
  readonly compute: string;
  readonly memory: string;
}

const string = (text: string) => ({ string: text });
const version = (text: string) => ({ version: text });
const int = (number: number) => ({ int: number });

export function nvidiaGpu(node: string, index: number, card: NvidiaCard, driver: NvidiaDriver): Device {
  return {
    name: `gpu-${index}`,
    attributes: {
      type: string("gpu"),
      uuid: string(`GPU-${node}-${index}`),
      ...nvidiaAttributes(card, driver),
    },
    capacity: { memory: { value: card.memory } },
  };
}

export function migDevice(
  node: string,
  index: number,
  card: NvidiaCard & { readonly profile: string },
  driver: NvidiaDriver,
): Device {
  return {
    name: `gpu-0-mig-9-${index * 4}-4`,
    attributes: {
      type: string("mig"),
      parentUUID: string(`GPU-${node}-0`),
      uuid: string(`MIG-${node}-${index}`),
      profile: string(card.profile),
      ...nvidiaAttributes(card, driver),
    },
    capacity: { memory: { value: card.memory }, [`memorySlice${index * 4}`]: { value: "1" } },
  };
}

function nvidiaAttributes({ product, compute }: NvidiaCard, { driver, cuda }: NvidiaDriver) {
  return {
    productName: string(product),
    brand: string("Nvidia"),
    architecture: string("Hopper"),
    cudaComputeCapability: version(`${compute}.0`),
    driverVersion: version(driver),
    cudaDriverVersion: version(`${cuda}.0`),
    "resource.kubernetes.io/pciBusID": string("0000:65:00.0"),
  };
}

export function amdGpu(index: number, deviceID: string, productName: string): Device {
  return {
    name: `gpu-${index}-${128 + index}`,
    attributes: {
      type: string("amdgpu"),
      pciAddr: string(`0000:${index + 1}5:00.0`),
      deviceID: string(deviceID),
      ...amdAttributes(index, productName, "spx_nps1"),
    },
    capacity: { memory: { value: "192Gi" }, computeUnits: { value: "304" } },
  };
}

/** It names its parent's device, and not its own. */
export function amdPartition(index: number, parentDeviceID: string, productName: string): Device {
  return {
    name: `gpu-${index}-${128 + index}`,
    attributes: {
      type: string("amdgpu-partition"),
      parentPciAddr: string("0000:05:00.0"),
      parentDeviceID: string(parentDeviceID),
      ...amdAttributes(index, productName, "cpx_nps1"),
    },
    capacity: { memory: { value: "24Gi" }, computeUnits: { value: "38" } },
  };
}

function amdAttributes(index: number, productName: string, profile: string) {
  return {
    cardIndex: int(index),
    renderIndex: int(128 + index),
    family: string("AI"),
    productName: string(productName),
    driverVersion: version("6.14.14"),
    driverSrcVersion: string("0123456789ABCDEF"),
    partitionProfile: string(profile),
  };
}

/** Devices that are none of imgmatch's business. */
export function exampleDevice(index: number): Device {
  return {
    name: `gpu-${index}`,
    attributes: {
      index: int(index),
      uuid: string(`gpu-${index}`),
      model: string("LATEST-GPU-MODEL"),
      driverVersion: version("1.0.0"),
    },
    capacity: { memory: { value: "80Gi" } },
  };
}

export function resourceSlice(
  driver: string,
  node: string,
  devices: readonly Device[],
  generation = 1,
): KubernetesObject {
  return {
    apiVersion: "resource.k8s.io/v1",
    kind: "ResourceSlice",
    metadata: { name: `${node}-${driver}-${generation}` },
    spec: { driver, nodeName: node, pool: { name: node, generation, resourceSliceCount: 1 }, devices },
  };
}

const ofNvidia = (type: string) =>
  `device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == '${type}'`;

/** As their Helm charts install them. */
export const deviceClasses: readonly KubernetesObject[] = Object.entries({
  "gpu.nvidia.com": ofNvidia("gpu"),
  "mig.nvidia.com": ofNvidia("mig"),
  "gpu.amd.com": "device.driver == 'gpu.amd.com'",
  "gpu.example.com": "device.driver == 'gpu.example.com'",
}).map(([name, expression]) => ({
  apiVersion: "resource.k8s.io/v1",
  kind: "DeviceClass",
  metadata: { name },
  spec: { selectors: [{ cel: { expression } }] },
}));
