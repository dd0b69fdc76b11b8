/** Proposes marches for hosts. Pure. */

import { allMarches, findMarch, marchCompiles } from "../../hardware/cpu-marches.ts";
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
 * Proposes the highest level that all hosts of an architecture run, and the march of each host's CPU. Marches that the compiler does not
 * know are left out.
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
