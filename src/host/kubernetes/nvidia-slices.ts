/**
 * Reads NVIDIA facts from the devices of ResourceSlices.
 * Source: kubernetes-sigs/dra-driver-nvidia-gpu 95932046, cmd/gpu-kubelet-plugin (deviceinfo.go, mig.go, nvlib.go).
 */

import { groupBy } from "../../io/collections.ts";
import { type FactForm, factGrammar } from "../../facts/fact-grammar.ts";
import type { GpuFacts, NvidiaFacts } from "../../facts/facts.ts";
import { cudaUnder } from "../../hardware/cuda-toolkits.ts";
import { gpuOfProduct } from "../nvidia/complete-gpus.ts";
import { formatBus } from "../pci.ts";
import { unknownNvidia } from "../../facts/no-facts.ts";
import type { GpuReport } from "./join-sources.ts";
import {
  busAttribute,
  valuesOf,
  type SlicedDevice,
  type SlicedNode,
  slicedFacts,
} from "./resource-slices.ts";

export async function nvidiaFromSlices(node: SlicedNode): Promise<GpuReport<NvidiaFacts>> {
  // A device for a virtual machine is no GPU of a container.
  const devices = node.devices.filter(({ attributes: { type } }) => type === "gpu" || type === "mig");
  const cards = groupBy(devices, cardOf);
  const gpus = await Promise.all([...cards.values()].map(gpuOf));
  const cudas = valuesOf(devices, ({ cudaDriverVersion = "" }) =>
    majorMinor(cudaDriverVersion, factGrammar.cuda),
  );
  const isOnDemand = devices.some(({ attributes: { type, uuid } }) => type === "mig" && uuid === undefined);
  const { facts, open } = slicedFacts({ ...node, devices }, gpus, ({ driverVersion = "" }) =>
    driverOf(driverVersion),
  );
  const [cuda, ...others] = cudas;
  const driver = gpus.every((gpu) => gpu.class === "tegra") ? null : facts.driver;
  return {
    facts: {
      ...unknownNvidia,
      ...facts,
      cuda: cuda === undefined || others.length > 0 ? null : cudaUnder(driver, cuda),
    },
    counted: true,
    unproved: [
      ...open,
      ...(isOnDemand
        ? ["the GPUs are partitioned on demand: no ResourceSlice tells which partitions are there"]
        : []),
      ...(gpus.some(({ compute }) => compute === null)
        ? ["a ResourceSlice does not tell the compute capability, and the product is unknown"]
        : []),
    ],
  };
}

/** The devices of a card are the card itself and its MIG instances, existing and possible. */
function cardOf({ name, attributes: { type, uuid, parentUUID } }: SlicedDevice): string {
  return (type === "mig" ? parentUUID : uuid) ?? name;
}

async function gpuOf(devices: readonly SlicedDevice[]): Promise<GpuFacts> {
  const whole = devices.find(({ attributes }) => attributes.type === "gpu");
  const { attributes = {} } = whole ?? devices[0] ?? {};
  const { productName = null, cudaComputeCapability = "" } = attributes;
  const product = await gpuOfProduct(null, productName);
  return {
    ...product,
    uuid: (whole === undefined ? attributes.parentUUID : attributes.uuid) ?? null,
    name: productName,
    compute: majorMinor(cudaComputeCapability, factGrammar.compute) ?? product.compute,
    bus: formatBus(attributes[busAttribute] ?? ""),
    // The memory of an instance is its own.
    memoryMiB: whole?.memoryMiB ?? null,
    ...migOf(devices),
  };
}

/** A card that is offered whole is not in MIG mode. The driver turns the mode on for an instance that it makes on demand. */
function migOf(devices: readonly SlicedDevice[]): Pick<GpuFacts, "mig"> {
  const mig = devices.flatMap(({ attributes: { type, uuid, profile } }) =>
    type === "mig" && uuid !== undefined && profile !== undefined ? [{ uuid, profile }] : [],
  );
  if (mig.length > 0) return { mig };
  return devices.every(({ attributes: { type } }) => type === "gpu") ? { mig: null } : {};
}

/**
 * The driver writes its version as a semantic one, without leading zeros and always with three parts: `570.124.6` is 570.124.06, and
 * `580.142.0` is 580.142.
 */
function driverOf(text: string): string | null {
  const [, branch, minor, patch = ""] = /^(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/.exec(text) ?? [];
  if (branch === undefined) return null;
  return [branch, minor, ...(patch === "0" ? [] : [patch.padStart(2, "0")])].join(".");
}

/** `9.0.0` → `9.0` */
function majorMinor(text: string, { test }: FactForm): string | null {
  const short = text.replace(/^(\d+\.\d+)\.0$/, "$1");
  return test(short) ? short : null;
}
