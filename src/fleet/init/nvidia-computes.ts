/** Proposes compute capabilities for hosts. Pure. */

import { type ComputeCapability, parseComputeCapability } from "../../hardware/compute-capability.ts";
import {
  type CudaToolkit,
  findToolkit,
  supportedTargets,
  toolkitCompiles,
} from "../../hardware/cuda-toolkits.ts";
import { isTegra } from "../../hardware/gpu-target.ts";
import type { HostFacts } from "../../host/facts.ts";

/**
 * The compute capabilities of the hosts' GPUs that the toolkit compiles for; else those that the Dockerfile names; else the toolkit's oldest
 * and newest, with PTX for later GPUs.
 */
export function proposeComputes(
  hosts: readonly HostFacts[],
  named: readonly string[],
  toolkit: CudaToolkit,
): readonly string[] {
  const own = hosts.flatMap(({ nvidia }) => nvidia?.gpus.flatMap(({ compute }) => compute ?? []) ?? []);
  const compiles = (text: string) => compiledBy(toolkit, text) !== null;
  for (const found of [own, named]) {
    const usable = [...new Set(found)].filter(compiles).sort(compareCapabilities);
    const [last] = usable.slice(-1);
    if (last === undefined) continue;
    // The driver compiles PTX for GPUs that are newer than the toolkit.
    const isNewer = found.some((text) => !compiles(text) && compareCapabilities(text, last) > 0);
    return isNewer && !last.endsWith("+ptx") ? [...usable.slice(0, -1), `${last}+ptx`] : usable;
  }
  const numbers = supportedTargets(toolkit.minor)?.sm ?? [];
  const all = numbers.map((number) => `${Math.floor(number / 10)}.${number % 10}`).filter(compiles);
  const [oldest] = all;
  const newest = all.at(-1);
  if (oldest === undefined || newest === undefined) return ["8.0"];
  return oldest === newest ? [`${newest}+ptx`] : [oldest, `${newest}+ptx`];
}

/** True for code that runs on GPUs of the platform, if the toolkit compiles for it. */
export function compilesFor(release: string, target: string, platform: string): boolean {
  const toolkit = findToolkit(release);
  const compute = toolkit && compiledBy(toolkit, target);
  return compute !== null && (platform === "linux/arm64" || !isTegra(compute));
}

/** Values for a build whose targets nobody knows. */
export function standInFor(release: string): readonly string[] {
  const toolkit = findToolkit(release);
  return toolkit === null ? [] : proposeComputes([], [], toolkit);
}

/** The compute capability of a target; null if the toolkit does not compile for it. */
function compiledBy(toolkit: CudaToolkit, text: string): ComputeCapability | null {
  const compute = parseComputeCapability(numberOf(text).replace(/[af]?(\+ptx)?$/, ""));
  if (compute === null) return null;
  return toolkitCompiles(toolkit, { kind: "sass", compute, suffix: "" }) === false ? null : compute;
}

function compareCapabilities(one: string, other: string): number {
  return Number.parseFloat(numberOf(one)) - Number.parseFloat(numberOf(other));
}

/** `compute_90`, PTX alone, → `9.0` */
function numberOf(target: string): string {
  return target.replace(/^compute_(\d+)(\d)/, "$1.$2");
}
