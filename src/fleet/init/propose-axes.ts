/** Proposes values of the hardware axes for hosts. Pure. */

import { type ComputeCapability, parseComputeCapability } from "../../hardware/compute-capability.ts";
import { allMarches, findMarch, marchCompiles } from "../../hardware/cpu-marches.ts";
import { type CudaToolkit, supportedTargets, toolkitCompiles } from "../../hardware/cuda-toolkits.ts";
import type { HostFacts } from "../../host/facts.ts";
import type { Compiler } from "../matrix/matrix.ts";

/** The levels of most machines, for hosts with unknown CPUs. */
const usualMarches = ["x86-64-v2", "x86-64-v3"];

/** The oldest CPU of each level: gcc before 11 and clang before 12 know no levels. */
const oldestOf: Readonly<Record<string, string>> = {
  "x86-64-v2": "nehalem",
  "x86-64-v3": "haswell",
  "x86-64-v4": "skylake-avx512",
};

/**
 * For each architecture the highest level that all its hosts run, and for each host the march of its CPU, as far as the compiler knows them.
 *
 * @returns names, each once; the usual levels if no host's CPU is known
 */
export function proposeMarches(hosts: readonly HostFacts[], compiler: Compiler | null): readonly string[] {
  const known = hosts.filter(({ cpu }) => cpu.features !== null);
  const architectures = [...new Set(known.map(architectureOf))];
  const names = architectures.flatMap((architecture) => {
    const own = known.filter((host) => architectureOf(host) === architecture);
    const common = levels.flatMap((level) => {
      const name = compilable(level, compiler);
      return name !== null && own.every((host) => runs(host, name)) ? [name] : [];
    });
    return [...common.slice(-1), ...own.flatMap((host) => nativeMarch(host, compiler) ?? [])];
  });
  if (names.length > 0) return [...new Set(names)];
  return usualMarches.flatMap((level) => compilable(level, compiler) ?? []);
}

/** Lowest first, as in the table. */
const levels = allMarches().flatMap(({ name, vendor }) => (vendor === "generic" ? [name] : []));

/** The level, or its oldest CPU if the compiler knows no levels. */
function compilable(level: string, compiler: Compiler | null): string | null {
  return [level, oldestOf[level]].find((name) => name !== undefined && knows(compiler, name)) ?? null;
}

function knows(compiler: Compiler | null, name: string): boolean {
  const march = findMarch(name);
  return (
    march !== null && (compiler === null || marchCompiles(march, compiler.family, compiler.version) !== false)
  );
}

function runs({ cpu, platform }: HostFacts, name: string): boolean {
  const march = findMarch(name);
  const present = new Set(cpu.features ?? []);
  return (
    march !== null &&
    march.architecture === architectureOf({ platform }) &&
    march.features.every((feature) => present.has(feature))
  );
}

/** The lowest level of each architecture. */
export function lowestMarches(hosts: readonly HostFacts[]): readonly string[] {
  const architectures = new Set(hosts.map(architectureOf));
  const lowest = [...architectures].flatMap(
    (architecture) => levels.find((name) => findMarch(name)?.architecture === architecture) ?? [],
  );
  return lowest.length === 0 ? ["x86-64"] : lowest;
}

/** The march with the most features that the host runs; among equals, its vendor's. */
function nativeMarch(host: HostFacts, compiler: Compiler | null): string | null {
  const fitting = allMarches()
    .filter(({ vendor }) => vendor === "generic" || vendor === host.cpu.vendor)
    .filter(({ name }) => knows(compiler, name) && runs(host, name));
  const most = Math.max(0, ...fitting.map(({ features }) => features.length));
  return fitting.findLast(({ features }) => features.length === most)?.name ?? null;
}

function architectureOf({ platform }: Pick<HostFacts, "platform">): string {
  return platform.slice(platform.indexOf("/") + 1);
}

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

/** The compute capability of a target; null if the toolkit does not compile for it. */
export function compiledBy(toolkit: CudaToolkit, text: string): ComputeCapability | null {
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
