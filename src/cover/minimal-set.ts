/**
 * Finds the smallest set of images with which every class gets a good one. It is set covering in which an image can also spoil a class:
 * it may come before a good one.
 *
 * Exact: branch and bound over the good images of the class with the fewest choices. It leaves out dominated images (McCluskey, Minimization
 * of Boolean Functions, 1956). The lower bound is a number of classes of which no two share an image (Coudert, On Solving Covering Problems,
 * DAC 1996).
 */

/** The images that fit one class. Images are numbers from 0. */
export interface Demand {
  /** The hosts of the class. */
  readonly weight: number;
  /** The best first. Of a set of images, the class gets the first in this order. */
  readonly ranked: readonly number[];
  /** The good ones of them. */
  readonly good: ReadonlySet<number>;
}

export interface MinimalSet {
  /** Ascending. */
  readonly chosen: readonly number[];
  /**
   * Why fewer images are not enough. `disjoint`: no two of these demands share an image. `search`: `nodes` branches excluded every smaller
   * set. `limit`: the search ended after `nodes`; at least `atLeast` images are needed.
   */
  readonly proof:
    | { readonly kind: "disjoint"; readonly demands: readonly number[] }
    | { readonly kind: "search"; readonly nodes: number }
    | { readonly kind: "limit"; readonly nodes: number; readonly atLeast: number };
}

/** The search ends after so many branches, some seconds. */
const mostNodes = 2_000_000;

/**
 * Answers null if no set serves all demands, or none was found in ten times `limit` branches.
 *
 * @param cost the lower one wins among images that are equal to all demands
 */
export function findMinimalSet(
  demands: readonly Demand[],
  images: number,
  cost: (image: number) => number = () => 0,
  limit = mostNodes,
): MinimalSet | null {
  const kept = undominated(demands.map(placed), images, cost);
  const places = demands.map((demand) =>
    placed({ ...demand, ranked: demand.ranked.filter((image) => kept.has(image)) }),
  );
  const state = { best: null as readonly number[] | null, nodes: 0, gaveUp: false };
  const walk = (chosen: readonly number[], forbidden: ReadonlySet<number>): void => {
    if (state.nodes >= (state.best === null ? 10 * limit : limit)) {
      state.gaveUp = true;
      return;
    }
    state.nodes++;
    const unserved = places.flatMap((place) => {
      const options = optionsOf(place, chosen, forbidden);
      return options === null ? [] : [options];
    });
    if (unserved.length === 0) {
      if (state.best === null || chosen.length < state.best.length) state.best = chosen;
      return;
    }
    const fewest = unserved.reduce((least, options) => (options.length < least.length ? options : least));
    if (fewest.length === 0) return;
    const bound = chosen.length + disjointOf(unserved).length;
    if (state.best !== null && bound >= state.best.length) return;
    const helps = (image: number) => unserved.filter((options) => options.includes(image)).length;
    const order = [...fewest].sort((a, b) => helps(b) - helps(a) || cost(a) - cost(b) || a - b);
    const out = new Set(forbidden);
    for (const image of order) {
      walk([...chosen, image], out);
      // The branch above tried every set with this image.
      out.add(image);
    }
  };
  walk([], new Set());
  if (state.best === null) return null;
  const chosen = [...state.best].sort((a, b) => a - b);
  const independent = disjointDemands(places);
  const { nodes, gaveUp } = state;
  if (independent.length === chosen.length)
    return { chosen, proof: { kind: "disjoint", demands: independent } };
  if (gaveUp) return { chosen, proof: { kind: "limit", nodes, atLeast: independent.length } };
  return { chosen, proof: { kind: "search", nodes } };
}

/** A demand with the place of each image in its order. */
export interface PlacedDemand extends Demand {
  readonly at: ReadonlyMap<number, number>;
}

export function placed(demand: Demand): PlacedDemand {
  return { ...demand, at: new Map(demand.ranked.map((image, place) => [image, place])) };
}

/** The place of the image that the class gets of these; the length of its order if it gets none. */
export function placeOfFirst({ ranked, at }: PlacedDemand, chosen: readonly number[]): number {
  return Math.min(...chosen.map((image) => at.get(image) ?? ranked.length), ranked.length);
}

/** null if the class gets a good image. Else the good images before the image the class gets: the set needs one of them. */
function optionsOf(
  place: PlacedDemand,
  chosen: readonly number[],
  forbidden: ReadonlySet<number>,
): readonly number[] | null {
  const { ranked, good } = place;
  const first = placeOfFirst(place, chosen);
  const gets = ranked[first];
  if (gets !== undefined && good.has(gets)) return null;
  return ranked.slice(0, first).filter((image) => good.has(image) && !forbidden.has(image));
}

/** Sets of options of which no two share an image. */
function disjointOf(unserved: readonly (readonly number[])[]): readonly number[] {
  const used = new Set<number>();
  const order = unserved
    .map((_, index) => index)
    .sort((a, b) => (unserved[a]?.length ?? 0) - (unserved[b]?.length ?? 0));
  return order.filter((index) => {
    const options = unserved[index] ?? [];
    if (options.some((image) => used.has(image))) return false;
    for (const image of options) used.add(image);
    return true;
  });
}

function disjointDemands(places: readonly PlacedDemand[]): readonly number[] {
  const options = places.map(({ ranked, good }) => ranked.filter((image) => good.has(image)));
  return disjointOf(options).toSorted((a, b) => a - b);
}

/**
 * Leaves out an image that another dominates. The dominating image is good for the same classes, comes no later there, and spoils a class
 * only where the dominated image spoils the class as early.
 */
function undominated(
  demands: readonly PlacedDemand[],
  images: number,
  cost: (image: number) => number,
): ReadonlySet<number> {
  const place = (image: number, demand: number) => demands[demand]?.at.get(image) ?? Number.POSITIVE_INFINITY;
  const demandsWhere = (holds: (image: number, demand: PlacedDemand) => boolean) =>
    Array.from({ length: images }, (_, image) =>
      demands.flatMap((demand, index) => (holds(image, demand) ? [index] : [])),
    );
  const goodIn = demandsWhere((image, { good }) => good.has(image));
  const spoils = demandsWhere((image, { good, at }) => at.has(image) && !good.has(image));
  const dominates = (one: number, other: number) =>
    (goodIn[other] ?? []).every(
      (demand) => demands[demand]?.good.has(one) && place(one, demand) <= place(other, demand),
    ) &&
    (spoils[one] ?? []).every(
      (demand) => (spoils[other] ?? []).includes(demand) && place(other, demand) <= place(one, demand),
    );
  const kept = new Set<number>();
  const order = Array.from({ length: images }, (_, image) => image)
    .filter((image) => (goodIn[image] ?? []).length > 0)
    .sort((a, b) => (goodIn[b] ?? []).length - (goodIn[a] ?? []).length || cost(a) - cost(b) || a - b);
  for (const image of order) {
    if ([...kept].some((other) => dominates(other, image))) continue;
    for (const other of kept) if (dominates(image, other)) kept.delete(other);
    kept.add(image);
  }
  return kept;
}
