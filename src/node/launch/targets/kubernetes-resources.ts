/** The GPUs of a container as Kubernetes' extended resources, with their taints. A plugin must not put the host's driver over a bundled one. */

import type { Toleration } from "kubernetes-types/core/v1.js";
import { type GpuVendor, gpuVendors } from "../../../hardware/gpu-vendors.ts";
import { filled, given } from "../fields.ts";
import { neededUnits } from "../gpu-needs.ts";
import type { GpuUnit } from "../gpu-units.ts";
import { isBundled, type LaunchRequest } from "../target.ts";
import { unsupportedBy } from "../unsupported.ts";
import { dnsName } from "../workload-name.ts";

const cannot = unsupportedBy("kubernetes");

const gpuResources: Readonly<Record<GpuVendor, string>> = {
  nvidia: "nvidia.com/gpu",
  amd: "amd.com/gpu",
};

/**
 * A taint with the resource's name keeps GPU nodes for pods that ask for GPUs. Most clusters add no toleration to those pods (Kubernetes,
 * "Admission Controllers", ExtendedResourceToleration; NVIDIA's own manifests).
 */
export function tolerationsOf(request: LaunchRequest): Toleration[] {
  const { claim } = request;
  const vendors = (claim?.alternatives ?? neededUnits(request)).map(({ vendor }) => vendor);
  return [...new Set(vendors)].map((vendor) => ({
    key: foreignResource(request.settings?.resource) ?? gpuResources[vendor],
    operator: "Exists",
    effect: "NoSchedule",
  }));
}

/**
 * NVIDIA's device plugin counts GPUs, and with the strategy "mixed" each MIG profile (NVIDIA/k8s-device-plugin, "MIG strategies"). A
 * resource's name has no `+`: the profile `1g.10gb+me` is `mig-1g.10gb.me` (the same, internal/rm/rm.go). AMD's plugin counts a partition as a
 * GPU, unless `-resource_naming_strategy=mixed` names each kind of partition (ROCm/k8s-device-plugin, commit ed764684:
 * docs/user-guide/configuration.md).
 */
function resourceOf({ vendor, mig }: GpuUnit, { resource }: NonNullable<LaunchRequest["settings"]>): string {
  if (resource === undefined)
    return mig === null ? gpuResources[vendor] : `nvidia.com/mig-${mig.profile.replaceAll("+", ".")}`;
  const domain = domainOf(resource);
  if (domain === `${vendor}.com` || foreignResource(resource) !== undefined) return resource;
  throw cannot(
    `ask for ${resource} for an image that takes ${gpuResources[vendor]}`,
    `use --set resource=${vendor}.com/NAME, or the name of another plugin, DOMAIN/NAME, or leave it out`,
  );
}

/** The domain of an extended resource's name; null for what is no such name (Kubernetes, validation of IsExtendedResourceName). */
function domainOf(resource: string): string | null {
  const [, domain = ""] =
    /^([a-z0-9.-]{1,240})\/[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$/.exec(resource) ?? [];
  const isDomain = domain.split(".").every((part) => part === dnsName(part));
  return isDomain && !/(^|\.)kubernetes\.io$/.test(domain) ? domain : null;
}

/** A resource of a plugin that is no GPU vendor's: `org.qnib/gpu`. */
function foreignResource(resource: string | undefined): string | undefined {
  const domain = resource === undefined ? null : domainOf(resource);
  const vendors = gpuVendors.map((each) => `${each}.com`);
  return domain === null || vendors.includes(domain) ? undefined : resource;
}

/**
 * NVIDIA's plugin and DRA driver name the GPUs to its runtime or by CDI, and both bring the host's libraries over the image's
 * (NVIDIA/k8s-device-plugin, `DEVICE_LIST_STRATEGY`; NVIDIA/k8s-dra-driver-gpu, cdi.go).
 */
export function whyHostsDriver(request: LaunchRequest): string | null {
  if (!isBundled(request)) return null;
  if (request.claim === undefined && foreignResource(request.settings?.resource) !== undefined) return null;
  return "it bundles a driver, and NVIDIA's plugin and DRA driver put the host's over it";
}

function refuseHostsDriver(request: LaunchRequest): void {
  const why = whyHostsDriver(request);
  if (why === null) return;
  throw cannot(
    `run the image: ${why}`,
    "name the resource of a plugin that hands over devices alone, --set resource=DOMAIN/NAME, or build a cell that takes the host's driver (driver mode host)",
  );
}

export function resourceLimits(request: LaunchRequest): Record<string, string> {
  const { cpus, memoryMiB, settings = {} } = request;
  refuseHostsDriver(request);
  const units = request.claim === undefined ? neededUnits(request) : [];
  const names = new Set(units.map((unit) => resourceOf(unit, settings)));
  if (names.size > 1) {
    throw cannot(
      `ask for GPUs of different kinds for one container: ${[...names].sort().join(", ")}`,
      "name how many of one kind: --gpus 1 on a host of one kind",
    );
  }
  return filled<Record<string, string>>({
    cpu: given(cpus, String),
    memory: given(memoryMiB, (amount) => `${amount}Mi`),
    ...Object.fromEntries([...names].map((name) => [name, String(units.length)])),
  });
}
