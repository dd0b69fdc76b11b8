/**
 * Finds the best set of at most so many images: the most hosts with a good image, then the most with any. Exact: it tries every set, or
 * excludes a set by the most the remaining images could add, each image counted alone (as for maximum coverage).
 */

import { sum } from "../io/collections.ts";
import { type Demand, type PlacedDemand, placed, placeOfFirst } from "./minimal-set.ts";

interface BestSet {
  /** Ascending. */
  readonly chosen: readonly number[];
  /** Hosts that get a good image. */
  readonly good: number;
  /** Hosts that get any image. */
  readonly served: number;
  /** False if the search ended after `nodes` branches without excluding every other set. */
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
  const total = sum(demands.map(({ weight }) => weight));
  const all = demands.map(placed);
  const order = Array.from({ length: images }, (_, image) => image)
    .map((image) => ({ image, gain: gainOf(image, all, null, total) }))
    .filter(({ gain }) => gain > 0)
    .sort((a, b) => b.gain - a.gain || a.image - b.image)
    .map(({ image }) => image);
  let best: BestSet = { chosen: [], good: 0, served: 0, proved: true, nodes: 0 };
  const worth = ({ good, served }: Served) => good * (total + 1) + served;
  let nodes = 0;
  const walk = (chosen: readonly number[], next: number): void => {
    nodes++;
    const state = stateOf(all, chosen);
    const value = servedBy(all, state);
    if (worth(value) > worth(best)) best = { ...best, ...value, chosen };
    if (chosen.length >= most || nodes >= limit) return;
    const rest = order.slice(next);
    const gains = rest
      .map((image) => gainOf(image, all, state, total))
      .sort((a, b) => b - a)
      .slice(0, most - chosen.length);
    if (worth(value) + sum(gains) <= worth(best)) return;
    for (const [index, image] of rest.entries()) walk([...chosen, image], next + index + 1);
  };
  walk([], 0);
  /** Leaves out images that change nothing. */
  const trimmed = (chosen: readonly number[]): readonly number[] => {
    const without = chosen.map((image) => chosen.filter((other) => other !== image));
    const same = without.find((set) => worth(servedBy(all, stateOf(all, set))) >= worth(best));
    return same === undefined ? chosen : trimmed(same);
  };
  return { ...best, chosen: [...trimmed(best.chosen)].sort((a, b) => a - b), proved: nodes < limit, nodes };
}

type ClassState = "good" | "served" | "none";

function stateOf(demands: readonly PlacedDemand[], chosen: readonly number[]): readonly ClassState[] {
  return demands.map((demand) => {
    const { ranked, good } = demand;
    const gets = ranked[placeOfFirst(demand, chosen)];
    return gets === undefined ? "none" : good.has(gets) ? "good" : "served";
  });
}

type Served = Pick<BestSet, "good" | "served">;

function servedBy(demands: readonly Demand[], state: readonly ClassState[]): Served {
  const hostsOf = (which: ClassState) =>
    sum(demands.flatMap(({ weight }, index) => (state[index] === which ? [weight] : [])));
  const good = hostsOf("good");
  return { good, served: good + hostsOf("served") };
}

/** The most that an image can add. */
function gainOf(
  image: number,
  demands: readonly PlacedDemand[],
  state: readonly ClassState[] | null,
  total: number,
): number {
  return demands.reduce((gain, { weight, good, at }, index) => {
    if (!at.has(image)) return gain;
    const is = state?.[index] ?? "none";
    const more = good.has(image) && is !== "good" ? weight * (total + 1) : 0;
    return gain + more + (is === "none" ? weight : 0);
  }, 0);
}
