/** Sets of CPU features, each told as what it has more than another one. */

import { compareText } from "../../oci/text-order.ts";

export interface FeatureSets {
  /** The number of a set, from 1 on; 0 for the empty one. */
  readonly numberOf: (features: readonly string[]) => number;
  /** `2 avx512f avx512bw`: the set with what it has more than set 2 (0: than nothing), in the order of their numbers. */
  readonly rows: readonly string[];
}

/** The smaller ones first, so that a set is told by the largest that it contains. */
export function compileFeatureSets(all: readonly (readonly string[])[]): FeatureSets {
  const keyOf = (features: readonly string[]) => [...new Set(features)].sort().join(" ");
  const keys = [...new Set(all.map(keyOf))].filter((key) => key !== "");
  const sets = keys
    .map((key) => ({ key, features: new Set(key.split(" ")) }))
    .sort((a, b) => a.features.size - b.features.size || compareText(a.key, b.key));
  const rows = sets.map(({ features }, index) => {
    const parent = sets
      .slice(0, index)
      .findLastIndex((other) => [...other.features].every((feature) => features.has(feature)));
    const known = sets[parent]?.features ?? new Set();
    return [parent + 1, ...[...features].filter((feature) => !known.has(feature))].join(" ");
  });
  const numbers = new Map(sets.map(({ key }, index) => [key, index + 1]));
  return { numberOf: (features) => numbers.get(keyOf(features)) ?? 0, rows };
}
