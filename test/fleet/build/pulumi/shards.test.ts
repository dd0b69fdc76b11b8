import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { shardCells } from "../../../../src/pulumi/stack-shards.ts";
import type { Cell } from "../../../../src/fleet/cells/cell.ts";

const cell = (cuda: string, march: string) =>
  ({ id: `${cuda}_${march}`, axes: { cuda, march } }) as unknown as Cell;
const cells = ["12.8.1", "13.0.2"].flatMap((cuda) => ["a", "b", "c"].map((march) => cell(cuda, march)));
const names = (limit: number) =>
  [...shardCells("dev", cells, limit)].map(([name, { length }]) => `${name} ${length}`);

describe("Cells in stacks", () => {
  it("are in one where they fit", () => expect(names(6)).toEqual(["dev 6"]));

  it("are grouped by as many axes as it takes", () => {
    expect(names(3)).toEqual(["dev-12.8.1 3", "dev-13.0.2 3"]);
    expect(names(2)).toHaveLength(6);
  });

  it("stay in their stack when another cell comes, as long as that fits", () => {
    const before = shardCells("dev", cells, 4);
    const after = shardCells("dev", [...cells, cell("13.0.2", "d")], 4);
    for (const [name, group] of before) expect(after.get(name)?.slice(0, 3)).toEqual(group);
  });

  it("are each in exactly one, with a name that Pulumi takes", () => {
    const text = fc.string({ minLength: 1, maxLength: 12 });
    const some = fc.uniqueArray(fc.record({ cuda: text, march: text }), {
      selector: ({ cuda, march }) => JSON.stringify([cuda, march]),
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(some, fc.integer({ min: 1, max: 10 }), (axes, limit) => {
        const given = axes.map(({ cuda, march }) => cell(cuda, march));
        const groups = [...shardCells("dev", given, limit)];
        expect(groups.flatMap(([, group]) => group)).toHaveLength(given.length);
        for (const [name] of groups) expect(name).toMatch(/^[A-Za-z0-9_.-]{1,100}$/);
      }),
    );
  });
});
