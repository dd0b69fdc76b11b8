/** Parses AMD's GPU targets as clang writes them. */

import { compareText } from "../io/collections.ts";
import { amdArchitectures, amdGenerics } from "./amd-architectures.ts";
import { spirvTarget } from "./amd-generics.ts";

/** Names without features: `gfx90a`, `gfx11-generic`, `amdgcnspirv`. */
export const amdTargetNames: readonly string[] = [
  ...[...amdArchitectures, ...amdGenerics].map(({ name }) => name),
  spirvTarget,
];

const features = ["sramecc", "xnack"] as const;

/**
 * The target id in its canonical form, with sorted features; null for an unknown target, and for a feature that the target lacks.
 *
 * @example
 * parseAmdTarget("gfx90a:xnack-:sramecc+"); // "gfx90a:sramecc+:xnack-"
 */
export function parseAmdTarget(text: string): string | null {
  const [name = "", ...asked] = text.split(":");
  if (!amdTargetNames.includes(name)) return null;
  const isOf = (feature: string) => features.some((each) => hasFeature(name, each) && each === feature);
  const names = asked.map((each) => (/[+-]$/.test(each) ? each.slice(0, -1) : ""));
  if (!names.every(isOf) || new Set(names).size < names.length) return null;
  return [name, ...asked.sort()].join(":");
}

/** A generic target has the features of its members. */
function hasFeature(name: string, feature: (typeof features)[number]): boolean {
  return amdArchitectures.some((row) => (row.name === name || row.generic === name) && row[feature] === true);
}

/** By generation (9 before 10), then by name. SPIR-V has no generation and comes last. */
export function compareAmdTargets(a: string, b: string): number {
  return generationOf(a) - generationOf(b) || compareText(a, b);
}

/** A name ends with two digits for minor and stepping: `gfx90a` is of generation 9, `gfx1201` of 12. */
function generationOf(target: string): number {
  const [, digits = "", generic] = /^gfx([0-9a-f]+)(-)?/.exec(target) ?? [];
  if (digits === "") return Number.POSITIVE_INFINITY;
  return Number(generic === undefined ? digits.slice(0, -2) : digits);
}
