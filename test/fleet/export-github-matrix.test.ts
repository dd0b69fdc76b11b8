import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mostBytes, mostJobs, type ShardCell, shardCells } from "../../src/fleet/export-github-matrix.ts";

const cells = (count: number, platform = "linux/amd64", length = 20): ShardCell[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `${platform.slice(6)}_${String(index).padStart(length, "0")}`,
    platform,
    bases: [`base:${index % 3}`],
  }));

describe("shards", () => {
  it("are none for no cells", () => {
    expect(shardCells([], 16)).toEqual([]);
  });

  it("differ by one cell at most, and hold each cell once", () => {
    const made = shardCells(cells(50), 16);
    expect(made.map((shard) => shard.cells)).toEqual(expect.arrayContaining([3, 4]));
    expect(new Set(made.map((shard) => shard.cells))).toEqual(new Set([3, 4]));
    const all = made.flatMap(({ only }) => only.split(","));
    expect(all.sort()).toEqual(cells(50).map(({ id }) => id));
  });

  it("keep cells of the same bases together", () => {
    const bases = new Map(cells(30).map(({ id, bases }) => [id, bases.join()]));
    for (const { only } of shardCells(cells(30), 3)) {
      expect(new Set(only.split(",").map((id) => bases.get(id))).size).toBe(1);
    }
  });

  it("are of one platform each, by the number of its cells", () => {
    const made = shardCells([...cells(90), ...cells(10, "linux/arm64")], 10);
    expect(made.filter(({ platform }) => platform === "linux/arm64").map((shard) => shard.cells)).toEqual([
      10,
    ]);
    expect(made).toHaveLength(10);
    expect(() => shardCells([...cells(1), ...cells(1, "linux/arm64")], 1)).toThrow(/2 platforms/);
  });

  it("are of one machine each, and say so where the matrix does", () => {
    const [big, arm] = [
      { runner: ["self-hosted", "big"], timeout: 600, freeDisk: true },
      { runner: ["arm"] },
    ];
    const made = shardCells(
      [
        ...cells(4),
        ...cells(2).map((cell) => ({ ...cell, id: `big_${cell.id}`, machine: big })),
        ...cells(1, "linux/arm64").map((cell) => ({ ...cell, machine: arm })),
      ],
      4,
    );
    expect(made.map(({ only: _, ...rest }) => rest)).toEqual([
      { name: "linux/amd64 self-hosted big 1/1", platform: "linux/amd64", cells: 2, ...big },
      { name: "linux/amd64 1/2", platform: "linux/amd64", cells: 2 },
      { name: "linux/amd64 2/2", platform: "linux/amd64", cells: 2 },
      { name: "linux/arm64 arm 1/1", platform: "linux/arm64", cells: 1, ...arm },
    ]);
    const machines = cells(3).map((cell, index) => ({ ...cell, machine: { timeout: index + 1 } }));
    expect(() => shardCells(machines, 2)).toThrow(/3 platforms or machines/);
  });

  it("never pass GitHub's limits, whatever is asked for", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12_000 }),
        fc.integer({ min: 1, max: mostJobs }),
        fc.integer({ min: 5, max: 60 }),
        (count, shards, length) => {
          const made = shardCells(cells(count, "linux/amd64", length), shards);
          expect(made.length).toBeLessThanOrEqual(mostJobs);
          expect(JSON.stringify({ include: made }).length).toBeLessThanOrEqual(mostBytes);
          expect(made.every(({ only }) => only.length < 128 * 1024)).toBe(true);
          expect(made.reduce((sum, shard) => sum + shard.cells, 0)).toBe(count);
        },
      ),
      { numRuns: 30 },
    );
    expect(() => shardCells(cells(4), mostJobs + 1)).toThrow(
      "GitHub takes 256 jobs in one matrix, and --shards is 257",
    );
  });

  it("refuse more than GitHub takes, with the numbers", () => {
    expect(() => shardCells(cells(20_000, "linux/amd64", 60), 256)).toThrow(
      /20000 cells .* bytes; GitHub takes 256/,
    );
  });
});
