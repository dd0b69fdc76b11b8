/** What each host class gets of each cell that could be built, and which of them are good enough. */

import type { Matrix } from "../fleet/matrix/matrix.ts";
import { compareKeys } from "../resolve/order-steps.ts";
import { createResolver } from "../resolve/resolver.ts";
import type { CandidateMap } from "./candidate-cells.ts";
import { distanceKey } from "./compare-covers.ts";
import type { HostClass } from "./host-classes.ts";
import type { Demand } from "./minimal-set.ts";
import { cpuDistanceFrom, isNative, worstCode } from "./native-distance.ts";
import { plannedLock } from "./planned-image.ts";

/** Numbers are places in the list of the cells. Good is native code, and where no cell has that, as near to native code as any. */
export interface ClassDemand extends Demand {
  readonly native: ReadonlySet<number>;
  /** Where no cell is native: whether one could be, as far as the facts tell. */
  readonly open: boolean;
}

export function demandsOf(
  matrix: Matrix,
  cells: CandidateMap,
  ids: readonly string[],
  classes: readonly HostClass[],
): readonly ClassDemand[] {
  const numbers = new Map(ids.map((id, index) => [id, index]));
  const { rank } = createResolver(plannedLock(matrix, [...cells.values()]));
  return classes.map(({ facts, names }): ClassDemand => {
    const usable = (facts.nvidia?.gpus.length ?? 0) > 0 && facts.nvidia?.driver != null;
    const cpuDistance = cpuDistanceFrom(facts);
    const each = rank(facts).ranked.map(({ cell, image, fit }) => {
      const match = { cpu: cpuDistance(image), gpu: worstCode(fit), tier: fit.tier };
      // GPUs without work are served by no CPU image.
      const unusedGpus = usable && image.requires.cuda === null;
      return {
        number: numbers.get(cell) ?? 0,
        native: unusedGpus ? false : isNative(match),
        key: distanceKey(unusedGpus, match),
      };
    });
    const nearest = each.map(({ key }) => key).sort(compareKeys)[0] ?? [];
    const native = numbersOf(each, (one) => one.native === true);
    const good = native.size > 0 ? native : numbersOf(each, ({ key }) => compareKeys(key, nearest) === 0);
    return {
      weight: names.length,
      ranked: each.map(({ number }) => number),
      good,
      native,
      open: native.size === 0 && each.some((one) => one.native === null),
    };
  });
}

function numbersOf<Each extends { readonly number: number }>(
  each: readonly Each[],
  holds: (one: Each) => boolean,
): ReadonlySet<number> {
  return new Set(each.filter(holds).map(({ number }) => number));
}
