/**
 * A container's claim for Kubernetes' dynamic resource allocation: alternatives of devices, each an expression (CEL) over the attributes that
 * GPU drivers publish. Sources: kubernetes-sigs/dra-driver-nvidia-gpu 95932046, cmd/gpu-kubelet-plugin (deviceinfo.go, mig.go) and
 * deployments/helm (deviceclass-gpu.yaml, deviceclass-mig.yaml); ROCm/k8s-gpu-dra-driver 26224272, cmd/gpu-kubeletplugin/deviceinfo.go and
 * helm-charts-k8s/templates/deviceclass.yaml; Kubernetes, "Common Expression Language", dynamic-resource-allocation/cel/compile.go.
 */

import { type GpuVendor, gpuVendors } from "../../hardware/gpu-vendors.ts";
import { amdWords } from "../../host/kubernetes/amd-slices.ts";
import type { DeviceWish } from "./device-wish.ts";
import type { DriverRange, ServedGpus } from "./fleet/served-devices.ts";
import type { GpuUnit } from "./gpu-units.ts";
import { versionText } from "./labels/vocabulary.ts";
import type { DeviceAlternative, DeviceClaim } from "./target.ts";
import { unsupported } from "./unsupported.ts";
import { dnsName } from "./workload-name.ts";

/** A number of devices of any kind. */
export function plainWish(count: number, migProfile: string | null = null): DeviceWish {
  return { text: migProfile ?? "gpu", count, kinds: null, product: null, migProfile, memoryGb: null };
}

/** A wish for such units on another node. */
export function wishOf(units: readonly GpuUnit[]): DeviceWish {
  const profiles = new Set(units.map(({ mig }) => mig?.profile ?? null));
  const [profile = null] = profiles;
  if (profiles.size <= 1) return plainWish(units.length, profile);
  throw unsupported(
    "kubernetes",
    `claim devices of different kinds for one container: ${[...profiles].map((each) => each ?? "whole GPUs").join(", ")}`,
    "name how many of one kind: --gpus 1 on a host of one kind, or --devices",
  );
}

/** The wishes that the image serves; null for none. `image` is its name in messages. */
export function claimOf(
  serves: readonly ServedGpus[],
  wishes: readonly DeviceWish[],
  image: string,
): DeviceClaim | null {
  const alternatives = wishes.flatMap((wish) =>
    gpuVendors.flatMap((vendor): readonly DeviceAlternative[] => {
      const served = serves
        .filter((each) => each.vendor === vendor)
        .map((each) => ({ ...each, kinds: each.kinds.filter((kind) => wish.kinds?.has(kind) ?? true) }))
        .filter(({ kinds }) => kinds.length > 0);
      if (served.length === 0 || (wish.migProfile !== null && !claims[vendor].mig)) return [];
      const deviceClass = `${wish.migProfile === null ? "gpu" : "mig"}.${vendor}.com`;
      const cel = celOf(vendor, served, wish, image);
      return [{ name: dnsName(wish.text), vendor, deviceClass, count: wish.count, cel }];
    }),
  );
  if (alternatives.length === 0) return null;
  // Both vendors may meet one wish.
  const named = alternatives.map((each) => {
    const alike = alternatives.filter(({ name }) => name === each.name);
    return alike.length === 1 ? each : { ...each, name: dnsName(`${each.vendor}-${each.name}`) };
  });
  return { alternatives: named };
}

interface Claims {
  /** The vendor's driver publishes MIG instances. */
  readonly mig: boolean;
  /** The attributes that the test reads. */
  readonly first: readonly string[];
  readonly test: (served: readonly ServedGpus[], image: string) => string;
}

const claims: Readonly<Record<GpuVendor, Claims>> = {
  nvidia: {
    mig: true,
    first: ["cudaComputeCapability", "driverVersion"],
    test: (served) =>
      anyOf(served.map(({ kinds, drivers }) => allOf([ofCompute(kinds), ofDrivers(drivers)]))),
  },
  amd: { mig: false, first: [], test: ofTargets },
};

/** CELSelectorExpressionMaxLength of resource.k8s.io/v1. */
const mostCel = 10 * 1024;

function celOf(vendor: GpuVendor, served: readonly ServedGpus[], wish: DeviceWish, image: string): string {
  const domain = `gpu.${vendor}.com`;
  const { first, test } = claims[vendor];
  const tests = [...first.map(has), ...wishTests(domain, wish), test(served, image)];
  // Reading a missing attribute is an error that ends the search for devices, so a test for it comes first.
  const cel = `cel.bind(gpu, device.attributes[${text(domain)}],\n  ${tests.join(" &&\n  ")})`;
  if (cel.length <= mostCel) return cel;
  throw unsupported(
    "kubernetes",
    `claim GPUs for ${image}: its expression has ${cel.length} bytes, ${mostCel} are allowed`,
    "name the devices with --devices, or leave that image out with --pin",
  );
}

function has(attribute: string): string {
  return `${text(attribute)} in gpu`;
}

function wishTests(domain: string, { product, migProfile, memoryGb }: DeviceWish): readonly string[] {
  const capacity = `device.capacity[${text(domain)}]`;
  return [
    ...(product === null ? [] : [has("productName"), `gpu.productName.matches(${text(`(?i)${product}`)})`]),
    ...(migProfile === null ? [] : [has("profile"), `gpu.profile == ${text(migProfile)}`]),
    ...(memoryGb === null
      ? []
      : [`"memory" in ${capacity}`, `${capacity}.memory.compareTo(quantity(${text(`${memoryGb}G`)})) >= 0`]),
  ];
}

function ofCompute(kinds: readonly string[]): string {
  const versions = kinds.map((compute) => `semver(${text(`${compute}.0`)})`);
  const [only, ...others] = versions;
  return others.length === 0
    ? `gpu.cudaComputeCapability == ${only}`
    : `gpu.cudaComputeCapability in [${versions.join(", ")}]`;
}

function ofDrivers(ranges: readonly DriverRange[]): string {
  return anyOf(
    ranges.map(({ from, before }) =>
      allOf([
        ...(from <= 1 ? [] : [driverTest(from, true)]),
        ...(before === null ? [] : [driverTest(before, false)]),
      ]),
    ),
  );
}

/** A semantic version has three numbers. The sign stands for a fourth. */
function driverTest(number: number, isAtLeast: boolean): string {
  const [major = "0", minor = "0", patch = "0", after = "0"] = versionText(number).split(".");
  const sign = isAtLeast ? (after === "0" ? ">=" : ">") : after === "0" ? "<" : "<=";
  return `gpu.driverVersion.compareTo(semver(${text(`${major}.${minor}.${patch}`)})) ${sign} 0`;
}

/** AMD's driver publishes no target, so device ids and product names stand for it. */
function ofTargets(served: readonly ServedGpus[], image: string): string {
  const targets = served.flatMap(({ kinds }) => kinds);
  const { deviceId, productName } = amdWords(targets);
  const matches = (attribute: string, value: string, pattern: string | null) =>
    pattern === null ? [] : [allOf([has(attribute), `${value}.matches(${text(pattern)})`])];
  const tests = [
    ...matches("deviceID", "gpu.deviceID.lowerAscii()", deviceId),
    ...matches("productName", 'gpu.productName.lowerAscii().replace("_", " ")', productName),
  ];
  if (tests.length > 0) return anyOf(tests);
  throw unsupported(
    "kubernetes",
    `claim GPUs for ${image}: gpu.amd.com publishes devices and products, and imgmatch knows none with ${targets.join(", ")}`,
    "leave that image out with --pin",
  );
}

function allOf(tests: readonly string[]): string {
  return tests.length === 0 ? "true" : tests.join(" && ");
}

function anyOf(tests: readonly string[]): string {
  const [only = "false", ...others] = tests;
  return others.length === 0 ? only : `(${tests.map((test) => `(${test})`).join(" || ")})`;
}

/** A JSON string is a CEL string. */
function text(value: string): string {
  return JSON.stringify(value);
}
