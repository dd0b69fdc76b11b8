/** Which march to write for a name of -march= that the table of marches has no row for. */

import names from "./compiler-names.json" with { type: "json" };
import { suggestMarch } from "./cpu-marches.ts";
import { tablesDate } from "./tables-date.ts";

const same: Readonly<Record<string, string>> = names.same;

/**
 * The fix for an unknown march.
 *
 * @example
 * fixMarch("core2"); // "write x86-64, the highest known march that a core2 runs"
 */
export function fixMarch(name: string): string {
  if (isNative(name))
    return "name the marches of the hosts: native is the march of whatever machine compiles";
  if (Object.hasOwn(same, name)) return `write ${same[name]}, which is the same march`;
  const below = marchBelow(name);
  if (below !== null) return `write ${below}, the highest known march that a ${name} runs`;
  const near = nearMarch(name);
  return near === null ? `imgmatch hardware cpu lists those of ${tablesDate}` : `did you mean ${near}?`;
}

/** Compilers take it for the march of the machine that they run on. */
export function isNative(name: string): boolean {
  return name === "native";
}

/** The known march of a name: the same march, the most that its CPUs run, or a name of nearly the same letters; null if there is none. */
export function nearMarch(name: string): string | null {
  if (Object.hasOwn(same, name)) return same[name] ?? null;
  const isKnown = isNative(name) || names.unknown.split(" ").includes(name);
  return marchBelow(name) ?? (isKnown ? null : suggestMarch(name));
}

function marchBelow(name: string): string | null {
  return Object.entries(names.within).find(([, all]) => all.split(" ").includes(name))?.[0] ?? null;
}
