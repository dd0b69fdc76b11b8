/** Does to a host or an image what a cure says. */

import { findMarch, marchFeatures } from "../../../src/hardware/cpu-marches.ts";
import { driverFloor, findToolkit } from "../../../src/hardware/cuda-toolkits.ts";
import type { HostFacts } from "../../../src/facts/facts.ts";
import type { LockedImage } from "../../../src/lock/lock.ts";
import type { CudaRequirement } from "../../../src/lock/requirement.ts";
import type { Remedy } from "../../../src/resolve/verdict.ts";
import { digest } from "../../resolve/support/locks.ts";

export function applyToHost(host: HostFacts, remedy: Remedy): HostFacts | null {
  const { nvidia } = host;
  switch (remedy.kind) {
    case "driver":
      if (nvidia == null) return null;
      return { ...host, nvidia: { ...nvidia, driver: remedy.version, library: remedy.version, cuda: null } };
    case "features": {
      const features = [...(host.cpu.features ?? []), ...remedy.features];
      return { ...host, cpu: { ...host.cpu, features: [...new Set(features)].sort() } };
    }
    case "kernel":
      return { ...host, kernel: remedy.minimum };
    default:
      return null;
  }
}

export function applyToImage(image: LockedImage, remedy: Remedy, host: HostFacts): LockedImage | null {
  const { cpu, cuda, rocm } = image.requires;
  if (remedy.kind === "build") return { ...image, digest: digest };
  if (remedy.kind === "without") {
    const found = findMarch(remedy.march);
    const features = found === null ? [] : marchFeatures(found, remedy.features);
    return { ...image, requires: { ...image.requires, cpu: { march: remedy.march, features } } };
  }
  if (remedy.kind !== "cell") return null;
  const { march, compute } = remedy.axes;
  if (remedy.axes.cuda === "none" || remedy.axes.accel === "none") {
    const { rocm: _, accelerator: __, ...others } = image.requires;
    return { ...image, requires: { ...others, cuda: null } };
  }
  if (compute?.startsWith("gfx") === true && rocm !== undefined) {
    const { or = [], ...first } = rocm;
    const [all, ...others] = [first, ...or].map((each) => ({ ...each, code: [...each.code, compute] }));
    if (all === undefined) return null;
    return {
      ...image,
      requires: { ...image.requires, rocm: { ...all, ...(others.length > 0 && { or: others }) } },
    };
  }
  if (compute !== undefined && cuda !== null) {
    const added = compute.split("+").map((each) => `sm_${each.replace(".", "")}`);
    const release = remedy.axes.cuda ?? remedy.axes.accel?.replace("cuda-", "");
    if (release !== undefined) return { ...image, requires: { cpu, cuda: builtWith(release, added) } };
    const { or = [], ...first } = cuda;
    // Whichever of several it was said of.
    const [all, ...others] = [first, ...or].map((each) => ({ ...each, code: [...each.code, ...added] }));
    if (all === undefined) return null;
    return { ...image, requires: { cpu, cuda: { ...all, ...(others.length > 0 && { or: others }) } } };
  }
  const found = march === undefined ? null : findMarch(march);
  if (march === undefined || found === null) throw new Error(JSON.stringify(remedy));
  const features = marchFeatures(found);
  // Random facts say a level that their features do not have.
  if (!features.every((feature) => host.cpu.features?.includes(feature))) return null;
  return { ...image, requires: { ...image.requires, cpu: { march, features } } };
}

export function builtWith(release: string, code: readonly string[]): CudaRequirement {
  const toolkit = findToolkit(release);
  const minimum = toolkit === null ? null : (driverFloor(toolkit)?.minimum ?? null);
  if (toolkit === null || minimum === null) throw new Error(release);
  return { toolkit: toolkit.release, code, driver: { mode: "host", minimum } };
}

export function withGpus(host: HostFacts, gpus: readonly number[]): HostFacts {
  const { nvidia } = host;
  if (nvidia == null) return host;
  return { ...host, nvidia: { ...nvidia, gpus: nvidia.gpus.filter(({ index }) => gpus.includes(index)) } };
}
