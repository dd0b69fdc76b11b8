import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { GpuFacts } from "../../../src/facts/facts.ts";
import { parseSmiLinks } from "../../../src/host/nvidia/smi-topology.ts";
import { chooseGpus } from "../../../src/node/launch/choose-gpus.ts";
import { joinedBy, joinedLine } from "../../../src/node/launch/gpu-pairs.ts";
import { unitsOf } from "../../../src/node/launch/gpu-units.ts";
import { checkOptions } from "../../properties/support/runs.ts";
import { a100, gpuHost, h100 } from "../../resolve/support/hosts.ts";
import { cuda, gpuImage, lockOf } from "../../resolve/support/locks.ts";

const lock = lockOf({ both: gpuImage(cuda("12.8.1", ["sm_80", "sm_90"])) });
const busy = { processes: 1, memoryMiB: 9000 };

interface Place extends Pick<GpuFacts, "numa" | "links"> {
  readonly busy?: boolean;
}

function chosen(places: readonly Place[], count: number, card = () => a100) {
  const gpus = places.map(({ busy: isBusy = false, ...place }) => ({
    ...card(),
    ...place,
    ...(isBusy && { use: busy }),
  }));
  const choice = chooseGpus(lock, gpuHost(gpus, "570.124.06"), { kind: "count", count });
  if (!choice.ok) throw new Error("too few are free");
  return choice.units;
}
const names = (places: readonly Place[], count: number) =>
  chosen(places, count).map(({ name }) => Number(name));

/** Four GPUs in two bridged pairs, each on a NUMA node of its own. */
const bridged = `
	GPU0	GPU1	GPU2	GPU3	CPU Affinity	NUMA Affinity	GPU NUMA ID
GPU0	 X 	NV12	SYS	SYS	0-23	0		N/A
GPU1	NV12	 X 	SYS	SYS	24-47	1		N/A
GPU2	SYS	SYS	 X 	NV12	48-71	2		N/A
GPU3	SYS	SYS	NV12	 X 	72-95	3		N/A
`;
/** A DGX-1 with eight V100, no two of which reach all others. */
const cube = [
  [1, 2, 3, 4],
  [0, 2, 3, 5],
  [0, 1, 3, 6],
  [0, 1, 2, 7],
  [0, 5, 6, 7],
  [1, 4, 6, 7],
  [2, 4, 5, 7],
  [3, 4, 5, 6],
].map((links, index): Place => ({ links, numa: index < 4 ? 0 : 1 }));

describe("several GPUs of a number", () => {
  it("are linked ones, then those of one NUMA node, then the first", () => {
    const links = [...parseSmiLinks(bridged).values()].map((each) => ({ links: each ?? [] }));
    const pairs = links.map((each, numa): Place => ({ ...each, numa }));
    expect(names(pairs, 2)).toEqual([0, 1]);
    expect(names(pairs.with(1, { ...pairs[1], busy: true }), 2)).toEqual([2, 3]);
    const nodes = [0, 1, 1, 0].map((numa): Place => ({ numa, links: [] }));
    expect(names(nodes, 2)).toEqual([0, 3]);
    expect(names(nodes.with(3, { numa: 0, links: [], busy: true }), 2)).toEqual([1, 2]);
    // A link outranks a node.
    expect(names([{ numa: 0, links: [3] }, { numa: 0 }, { numa: 0 }, { numa: 1, links: [0] }], 2)).toEqual([
      0, 3,
    ]);
    expect(names(cube, 4)).toEqual([0, 1, 2, 3]);
    expect(names(cube.with(2, { ...cube[2], busy: true }), 4)).toEqual([4, 5, 6, 7]);
    expect(names([{}, {}, {}], 2)).toEqual([0, 1]);
    expect(names([{ numa: null }, { numa: null }, { numa: 0 }], 2)).toEqual([0, 1]);
    // A number of one has no pair.
    expect(names([{}, { links: [2] }, { links: [1] }], 1)).toEqual([0]);
  });

  it("are of the better image and of one kind first", () => {
    const cards = [h100, a100, a100, h100];
    let next = 0;
    const units = chosen(
      [{ numa: 0 }, { links: [2], numa: 0 }, { links: [1], numa: 0 }, { numa: 1 }],
      2,
      () => {
        const card = cards[next++];
        return card ?? a100;
      },
    );
    expect(units.map(({ name }) => name)).toEqual(["0", "3"]);
  });

  it("are the closest of all choices, on 200 random hosts", () => {
    const place = fc.record({
      numa: fc.constantFrom(undefined, null, 0, 1),
      links: fc.option(fc.subarray([0, 1, 2, 3, 4, 5, 6]), { nil: undefined }),
      busy: fc.boolean(),
    });
    let better = 0;
    fc.assert(
      fc.property(
        fc.array(place, { minLength: 4, maxLength: 7 }),
        fc.integer({ min: 2, max: 4 }),
        (places, count) => {
          const known = places.map(({ numa, links, busy: isBusy }) => ({
            ...(numa !== undefined && { numa }),
            ...(links !== undefined && { links }),
            busy: isBusy,
          }));
          const free = known.flatMap((each, index) => (each.busy ? [] : [index]));
          fc.pre(free.length >= count);
          const linked = (a: number, b: number) => {
            const [from, to] = [known[a]?.links?.includes(b), known[b]?.links?.includes(a)];
            return (from ?? to ?? false) && (to ?? from ?? false);
          };
          const near = (a: number, b: number) => known[a]?.numa != null && known[a]?.numa === known[b]?.numa;
          const score = (set: readonly number[]) => {
            const pairs = set.flatMap((a, at) => set.slice(at + 1).map((b) => [a, b] as const));
            // One number: links count before nodes, of which there are at most six.
            return pairs.reduce((sum, [a, b]) => sum + (linked(a, b) ? 10 : 0) + (near(a, b) ? 1 : 0), 0);
          };
          const sets = Array.from({ length: 2 ** free.length }, (_, bits) =>
            free.filter((_index, bit) => (bits >> bit) % 2 === 1),
          ).filter((set) => set.length === count);
          const best = Math.max(...sets.map(score));
          const picked = names(known, count);
          expect(score(picked)).toBe(best);
          if (score(free.slice(0, count)) < best) better++;
        },
      ),
      { ...checkOptions, numRuns: 200 },
    );
    expect(better).toBeGreaterThan(20);
  });

  it("are the first ones of more than sixteen, which are parts of cards", () => {
    const parts = Array.from({ length: 64 }, (_, index): Place => ({ numa: index % 2, links: [] }));
    expect(names(parts, 3)).toEqual([0, 1, 2]);
  });

  it("are told as the facts tell them", () => {
    const told = (...places: readonly Place[]) => {
      const units = unitsOf(
        gpuHost(
          places.map((place) => ({ ...a100, ...place })),
          "570.124.06",
        ),
      );
      return [joinedBy(units), joinedLine(units)];
    };
    expect(told({ links: [1], numa: 0 }, { links: [0], numa: 1 })).toEqual([
      "links",
      "GPUs 0, 1: joined by NVLink, on NUMA nodes 0, 1",
    ]);
    expect(told({ links: [], numa: 1 }, { links: [], numa: 1 })).toEqual([
      "numa",
      "GPUs 0, 1: not joined by NVLink, on NUMA node 1",
    ]);
    expect(told({ numa: 1 }, { numa: 1 })).toEqual([
      "numa",
      "GPUs 0, 1: not known whether NVLink joins them, on NUMA node 1",
    ]);
    expect(told({ links: [], numa: null }, { links: [], numa: null })).toEqual([
      "none",
      "GPUs 0, 1: not joined by NVLink, no NUMA nodes",
    ]);
    expect(told({ links: [], numa: 0 }, { numa: null, links: [] })).toEqual([
      "none",
      "GPUs 0, 1: not joined by NVLink, on NUMA node 0 and on none",
    ]);
    expect(told({}, {})).toEqual([null, "GPUs 0, 1: the facts do not tell how they are joined"]);
    // One end says no.
    expect(told({ links: [1] }, { links: [] })[0]).toBeNull();
    expect(told({ links: [1], numa: 0 }, { links: [0], numa: 0 }, { links: [], numa: 0 })).toEqual([
      "numa",
      "GPUs 0, 1, 2: 1 of 3 pairs joined by NVLink, on NUMA node 0",
    ]);
  });
});
