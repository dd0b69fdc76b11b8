import { expect, it } from "vitest";
import { groupWrites } from "../../../src/fleet/run/build-cells.ts";

/** Writes that end when the test says so. */
function slowFile() {
  const begun: number[][] = [];
  const ends: { readonly end: () => void; readonly fail: (error: Error) => void }[] = [];
  const write = groupWrites(async (items: readonly number[]) => {
    begun.push([...items]);
    await new Promise<void>((end, fail) => ends.push({ end, fail }));
  });
  return { begun, ends, write };
}

const turn = () => new Promise((done) => setImmediate(done));

it("writes together what comes while a write is under way, and never two at a time", async () => {
  const { begun, ends, write } = slowFile();
  const first = write(1);
  await turn();
  const others = [write(2), write(3), write(4)];
  await turn();
  expect(begun).toEqual([[1]]);
  ends[0]?.end();
  await first;
  await turn();
  expect(begun).toEqual([[1], [2, 3, 4]]);
  ends[1]?.end();
  await Promise.all(others);
});

it("fails for the items of the failed write only, and goes on", async () => {
  const { begun, ends, write } = slowFile();
  const first = write(1);
  await turn();
  const second = write(2);
  ends[0]?.fail(new Error("disk full"));
  await expect(first).rejects.toThrow("disk full");
  await turn();
  expect(begun).toEqual([[1], [2]]);
  ends[1]?.end();
  await second;
});
