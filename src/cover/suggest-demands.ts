/** What each host class gets of each cell that could be built, and which of them are good enough. */

import type { Matrix } from "../matrix/matrix.ts";
import { compareKeys } from "../resolve/order-steps.ts";
import { createResolver } from "../resolve/resolver.ts";
import type { CandidateMap } from "./candidate-cells.ts";
import { distanceKey } from "./compare-covers.ts";
import type { HostClass } from "./host-classes.ts";
import type { Demand } from "./minimal-set.ts";
import { cpuDistanceFrom, worstCode } from "./native-distance.ts";
import { plannedLock } from "./planned-image.ts";
import { isWithin, nativeOnly, type StatedDistance } from "./within.ts";

/** Numbers are places in the list of the cells. Good is within the distance, and where no cell is that, as near to native code as any. */
export interface ClassDemand extends Demand {
  readonly within: ReadonlySet<number>;
  readonly native: ReadonlySet<number>;
  /** Where no cell is within the distance: whether one could be, as far as the facts tell. */
  readonly open: boolean;
}

export function demandsOf(
  matrix: Matrix,
  cells: CandidateMap,
  ids: readonly string[],
  classes: readonly HostClass[],
  distance: StatedDistance,
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
        within: unusedGpus ? false : isWithin(distance, match),
        native: !unusedGpus && isWithin(nativeOnly, match) === true,
        key: distanceKey(unusedGpus, match),
      };
    });
    const within = numbersOf(each, (one) => one.within === true);
    const nearest = each.map(({ key }) => key).sort(compareKeys)[0] ?? [];
    const native = numbersOf(each, (one) => one.native);
    const good = within.size > 0 ? within : numbersOf(each, ({ key }) => compareKeys(key, nearest) === 0);
    return {
      weight: names.length,
      ranked: each.map(({ number }) => number),
      good,
      within,
      native,
      // Native code is within every distance.
      ...(distance === nativeOnly ? {} : { best: native }),
      open: within.size === 0 && each.some((one) => one.within === null),
    };
  });
}

function numbersOf<Each extends { readonly number: number }>(
  each: readonly Each[],
  holds: (one: Each) => boolean,
): ReadonlySet<number> {
  return new Set(each.filter(holds).map(({ number }) => number));
}
