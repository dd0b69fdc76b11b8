/** The GPU targets for which all libraries of an image have code. */

import { findAmdArchitecture } from "../../hardware/amd-architectures.ts";
import { compareAmdTargets } from "./amd-inspection.ts";
import { spirvTarget } from "../../hardware/amd-generics.ts";

/**
 * Hosts that run all: of `gfx11-generic` in one library and `gfx1100` in another only `gfx1100` is left. Empty where no host runs all.
 *
 * @param libraries the targets of each, with code for some
 */
export function servedTargets(libraries: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...others] = libraries;
  const served = others.reduce<readonly string[]>(
    (before, targets) => widest(before.flatMap((a) => targets.flatMap((b) => meet(a, b) ?? []))),
    widest(first),
  );
  return [...served].sort(compareAmdTargets);
}

/** Without those that another one covers. */
function widest(targets: readonly string[]): readonly string[] {
  const all = [...new Set(targets)];
  return all.filter((target) => !all.some((other) => other !== target && meet(target, other) === target));
}

/** The target of hosts that run code of both; null where no host does. */
function meet(a: string, b: string): string | null {
  if (a === spirvTarget) return b;
  if (b === spirvTarget) return a;
  const [[first = "", ...ofFirst], [second = "", ...ofSecond]] = [a.split(":"), b.split(":")];
  const processor = covers(first, second) ? second : covers(second, first) ? first : null;
  const features = [...new Set([...ofFirst, ...ofSecond])].sort();
  // One state of a feature and the other.
  const isTorn = new Set(features.map((feature) => feature.slice(0, -1))).size < features.length;
  return processor === null || isTorn ? null : [processor, ...features].join(":");
}

function covers(wide: string, narrow: string): boolean {
  return wide === narrow || findAmdArchitecture(narrow)?.generic === wide;
}
