/**
 * The best set of so many images: most hosts with a good one, then most with any. Exact: every set is tried or bounded by what the
 * images that are left could add at most, each counted as if it were the only one (as for maximum coverage).
 */

import type { Demand } from "./minimal-set.ts";

export interface BestSet {
  /** Ascending. */
  readonly chosen: readonly number[];
  /** Hosts that get a good image, and hosts that get any. */
  readonly good: number;
  readonly served: number;
  /** Whether every set was excluded; else none better was found in `nodes` branches. */
  readonly proved: boolean;
  readonly nodes: number;
}

const mostNodes = 300_000;

export function findBestSet(
  demands: readonly Demand[],
  images: number,
  most: number,
  limit = mostNodes,
): BestSet {
  const total = demands.reduce((sum, { weight }) => sum + weight, 0);
  const at = demands.map(({ ranked }) => new Map(ranked.map((image, place) => [image, place])));
  const order = Array.from({ length: images }, (_, image) => image)
    .map((image) => ({ image, gain: gainOf(image, demands, at, null, total) }))
    .filter(({ gain }) => gain > 0)
    .sort((a, b) => b.gain - a.gain || a.image - b.image)
    .map(({ image }) => image);
  let best: BestSet = { chosen: [], good: 0, served: 0, proved: true, nodes: 0 };
  const worth = ({ good, served }: Pick<BestSet, "good" | "served">) => good * (total + 1) + served;
  let nodes = 0;
  const walk = (chosen: readonly number[], next: number): void => {
    nodes++;
    const state = stateOf(demands, at, chosen);
    const value = { good: sum(demands, state, "good"), served: sum(demands, state, "served") };
    if (worth(value) > worth(best)) best = { ...best, ...value, chosen };
    if (chosen.length >= most || nodes >= limit) return;
    const rest = order.slice(next);
    const gains = rest
      .map((image) => gainOf(image, demands, at, state, total))
      .sort((a, b) => b - a)
      .slice(0, most - chosen.length);
    if (worth(value) + gains.reduce((all, gain) => all + gain, 0) <= worth(best)) return;
    for (const [index, image] of rest.entries()) walk([...chosen, image], next + index + 1);
  };
  walk([], 0);
  /** Without images that change nothing. */
  const trimmed = (chosen: readonly number[]): readonly number[] => {
    const without = chosen.map((image) => chosen.filter((other) => other !== image));
    const same = without.find((set) => {
      const state = stateOf(demands, at, set);
      return (
        worth({ good: sum(demands, state, "good"), served: sum(demands, state, "served") }) >= worth(best)
      );
    });
    return same === undefined ? chosen : trimmed(same);
  };
  return { ...best, chosen: [...trimmed(best.chosen)].sort((a, b) => a - b), proved: nodes < limit, nodes };
}

type ClassState = "good" | "served" | "none";

function stateOf(
  demands: readonly Demand[],
  at: readonly ReadonlyMap<number, number>[],
  chosen: readonly number[],
): readonly ClassState[] {
  return demands.map(({ ranked, good }, index) => {
    const first = Math.min(...chosen.map((image) => at[index]?.get(image) ?? ranked.length), ranked.length);
    const gets = ranked[first];
    return gets === undefined ? "none" : good.has(gets) ? "good" : "served";
  });
}

function sum(demands: readonly Demand[], state: readonly ClassState[], least: "good" | "served"): number {
  return demands.reduce((all, { weight }, index) => {
    const is = state[index];
    return all + (is === "good" || (is === "served" && least === "served") ? weight : 0);
  }, 0);
}

/** What an image could add at most. */
function gainOf(
  image: number,
  demands: readonly Demand[],
  at: readonly ReadonlyMap<number, number>[],
  state: readonly ClassState[] | null,
  total: number,
): number {
  return demands.reduce((gain, { weight, good }, index) => {
    if (!at[index]?.has(image)) return gain;
    const is = state?.[index] ?? "none";
    const more = good.has(image) && is !== "good" ? weight * (total + 1) : 0;
    return gain + more + (is === "none" ? weight : 0);
  }, 0);
}
