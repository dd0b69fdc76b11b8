/** Compares two covers: the classes that gain, lose or change their image. */

import { compareKeys, type SortKey } from "../resolve/order-steps.ts";
import { codeKinds, tiers } from "../resolve/verdict.ts";
import type { ClassMatch, Cover, CoveredClass } from "./cover-classes.ts";

export interface CoverChange {
  /** The class's id in both covers. */
  readonly id: string;
  readonly hosts: number;
  /** `changes`: another image that is as good. `distanceKey` decides `better` and `worse`. */
  readonly kind: "gains" | "loses" | "better" | "worse" | "changes";
  readonly before: Pick<ClassMatch, "cell" | "tier"> | null;
  readonly after: Pick<ClassMatch, "cell" | "tier"> | null;
}

/** @param after the same classes in the same order */
export function compareCovers(before: Cover, after: Cover): readonly CoverChange[] {
  return before.classes.flatMap((was, index) => {
    const is = after.classes[index];
    if (is === undefined || sameMatch(was.match, is.match)) return [];
    const { id, hosts } = was;
    return [{ id, hosts, kind: kindOf(was, is), before: shown(was.match), after: shown(is.match) }];
  });
}

function sameMatch(a: ClassMatch | null, b: ClassMatch | null): boolean {
  return a?.cell === b?.cell && a?.tier === b?.tier;
}

function shown(match: ClassMatch | null): CoverChange["before"] {
  return match === null ? null : { cell: match.cell, tier: match.tier };
}

function kindOf(was: CoveredClass, is: CoveredClass): CoverChange["kind"] {
  if (was.match === null) return "gains";
  if (is.match === null) return "loses";
  const difference = compareKeys(
    distanceKey(was.unusedGpus, was.match),
    distanceKey(is.unusedGpus, is.match),
  );
  return difference > 0 ? "better" : difference < 0 ? "worse" : "changes";
}

/** A lower key is nearer to native code. Unused GPUs count first, then the GPU code, the tier, and the CPU. */
export function distanceKey(
  unusedGpus: boolean,
  { gpu, tier, cpu }: Pick<ClassMatch, "gpu" | "tier" | "cpu">,
): SortKey {
  return [
    unusedGpus ? 1 : 0,
    gpu === null ? 0 : codeKinds.indexOf(gpu.kind),
    gpu?.distance ?? 0,
    tiers.indexOf(tier),
    cpu?.unused.length ?? 0,
  ];
}
