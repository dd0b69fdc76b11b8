/** Proposes compute capabilities for hosts. Pure. */

import { type ComputeCapability, parseComputeCapability } from "../../hardware/compute-capability.ts";
import { supportedTargets, toolkitCompiles } from "../../hardware/cuda-toolkits.ts";
import { minorOf } from "../../hardware/driver-version.ts";
import { isTegra } from "../../hardware/gpu-target.ts";
import type { HostFacts } from "../../facts/facts.ts";

/**
 * The compute capabilities of the hosts' GPUs that the toolkit compiles for, else those of the Dockerfile, with PTX for later GPUs.
 * null if neither has one.
 */
export function proposeComputes(
  hosts: readonly HostFacts[],
  named: readonly string[],
  release: string,
): readonly string[] | null {
  const own = hosts.flatMap(({ nvidia }) => nvidia?.gpus.flatMap(({ compute }) => compute ?? []) ?? []);
  const compiles = (text: string) => compiledBy(release, text) !== null;
  for (const found of [own, named]) {
    const usable = [...new Set(found)].filter(compiles).sort(compareCapabilities);
    const [last] = usable.slice(-1);
    if (last === undefined) continue;
    // The driver compiles PTX for GPUs that are newer than the toolkit.
    const isNewer = found.some((text) => !compiles(text) && compareCapabilities(text, last) > 0);
    return isNewer && !last.endsWith("+ptx") ? [...usable.slice(0, -1), `${last}+ptx`] : usable;
  }
  return null;
}

/** Those of the given compute capabilities that the toolkit compiles for, with PTX for later GPUs; else {@link endsOf} it. */
export function computesAmong(all: readonly string[], release: string): readonly string[] {
  const usable = all.filter((text) => compilesFor(release, text, "linux/amd64")).sort(compareCapabilities);
  const last = usable.at(-1);
  return last === undefined ? endsOf(release) : [...usable.slice(0, -1), `${last}+ptx`];
}

/** The toolkit's oldest and newest. */
export function endsOf(release: string): readonly string[] {
  const compiles = (text: string) => compiledBy(release, text) !== null;
  const numbers = supportedTargets(release)?.sm ?? [];
  const all = numbers.map((number) => `${Math.floor(number / 10)}.${number % 10}`).filter(compiles);
  const [oldest] = all;
  const newest = all.at(-1);
  if (oldest === undefined || newest === undefined) return ["8.0"];
  return oldest === newest ? [`${newest}+ptx`] : [oldest, `${newest}+ptx`];
}

/** True for code that runs on GPUs of the platform, if the toolkit compiles for it. */
export function compilesFor(release: string, target: string, platform: string): boolean {
  const compute = compiledBy(release, target);
  return compute !== null && (platform === "linux/arm64" || !isTegra(compute));
}

/** The compute capability of a target; null if the toolkit does not compile for it. */
function compiledBy(release: string, text: string): ComputeCapability | null {
  const compute = parseComputeCapability(numberOf(text).replace(/[af]?(\+ptx)?$/, ""));
  if (compute === null) return null;
  const target = { kind: "sass", compute, suffix: "" } as const;
  return toolkitCompiles({ minor: minorOf(release) }, target) === false ? null : compute;
}

function compareCapabilities(one: string, other: string): number {
  return Number.parseFloat(numberOf(one)) - Number.parseFloat(numberOf(other));
}

/** `compute_90`, PTX alone, → `9.0` */
function numberOf(target: string): string {
  return target.replace(/^compute_(\d+)(\d)/, "$1.$2");
}
