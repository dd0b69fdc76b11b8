import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findBestSet } from "../../src/cover/best-set.ts";
import { type Demand, findMinimalSet } from "../../src/cover/minimal-set.ts";

const images = 8;

/** A small fleet: what each class gets of each image, in which order, and what is good enough. */
const anyDemands: fc.Arbitrary<readonly Demand[]> = fc.array(
  fc
    .record({
      weight: fc.integer({ min: 1, max: 9 }),
      ranked: fc.shuffledSubarray(Array.from({ length: images }, (_, image) => image)),
      good: fc.array(fc.boolean(), { minLength: images, maxLength: images }),
    })
    .map(({ weight, ranked, good }) => ({
      weight,
      ranked,
      good: new Set(ranked.filter((image) => good[image])),
    })),
  { maxLength: 7 },
);

const subsets: readonly (readonly number[])[] = Array.from({ length: 2 ** images }, (_, bits) =>
  Array.from({ length: images }, (_unused, image) => image).filter((image) => bits & (1 << image)),
);

/** The image that a class gets from a set, by a plain search. */
const gets = ({ ranked }: Demand, set: readonly number[]) => ranked.find((image) => set.includes(image));
const isGood = (demand: Demand, set: readonly number[]) => {
  const image = gets(demand, set);
  return image !== undefined && demand.good.has(image);
};
const hosts = (demands: readonly Demand[], holds: (each: Demand) => boolean) =>
  demands.filter(holds).reduce((sum, { weight }) => sum + weight, 0);

describe("compared with all sets of 1,000 random small fleets", () => {
  it("the smallest set is the smallest, and its proof holds", { timeout: 240_000 }, () => {
    const kinds = new Map<string, number>();
    fc.assert(
      fc.property(anyDemands, (demands) => {
        const found = findMinimalSet(demands, images);
        const all = subsets.filter((set) => demands.every((demand) => isGood(demand, set)));
        if (all.length === 0) {
          expect(found).toBeNull();
          return;
        }
        expect(demands.every((demand) => isGood(demand, found?.chosen ?? []))).toBe(true);
        expect(found?.chosen.length).toBe(Math.min(...all.map(({ length }) => length)));
        const proof = found?.proof;
        kinds.set(proof?.kind ?? "", (kinds.get(proof?.kind ?? "") ?? 0) + 1);
        if (proof?.kind !== "disjoint") return;
        expect(proof.demands).toHaveLength(found?.chosen.length ?? -1);
      }),
      { numRuns: 1000 },
    );
    expect(kinds.get("disjoint")).toBeGreaterThan(100);
    expect(kinds.get("search")).toBeGreaterThan(0);
    expect(kinds.get("limit")).toBeUndefined();
  });

  it("the best set of so many is the best", { timeout: 240_000 }, () => {
    fc.assert(
      fc.property(anyDemands, fc.integer({ min: 0, max: 4 }), (demands, most) => {
        const found = findBestSet(demands, images, most);
        const values = subsets
          .filter(({ length }) => length <= most)
          .map((set) => ({
            set,
            good: hosts(demands, (each) => isGood(each, set)),
            served: hosts(demands, (each) => gets(each, set) !== undefined),
          }))
          .sort((a, b) => b.good - a.good || b.served - a.served);
        const [best] = values;
        expect([found.good, found.served, found.proved]).toEqual([best?.good, best?.served, true]);
        expect(found.chosen.length).toBeLessThanOrEqual(most);
        expect(hosts(demands, (each) => isGood(each, found.chosen))).toBe(found.good);
      }),
      { numRuns: 1000 },
    );
  });
});

it("says what is proved where the search is given up", () => {
  const demands = Array.from({ length: 12 }, (_, index): Demand => {
    const ranked = [index, (index + 1) % 12, (index + 5) % 12];
    return { weight: 1, ranked, good: new Set(ranked) };
  });
  expect(findMinimalSet(demands, 12, () => 0, 6)?.proof).toMatchObject({ kind: "limit", atLeast: 2 });
  expect(findBestSet(demands, 12, 3, 2).proved).toBe(false);
});
