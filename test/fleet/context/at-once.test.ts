/** Files a few at a time: in their order, and to an end after a failure. */

import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { atOnce } from "../../../src/fleet/context/at-once.ts";

const numbers = Array.from({ length: 40 }, (_, number) => number);

test("answers in the order of the items, and works on several", async () => {
  let running = 0;
  let most = 0;
  const results = await atOnce(numbers, async (number) => {
    most = Math.max(most, ++running);
    await pause((number * 7) % 5);
    running--;
    return number * 2;
  });
  expect(results).toEqual(numbers.map((number) => number * 2));
  expect(most).toBe(4);
});

test("after a failure begins nothing more, and ends when nothing runs", async () => {
  const begun: number[] = [];
  let running = 0;
  const work = atOnce(numbers, async (number) => {
    begun.push(number);
    running++;
    await pause(number === 5 ? 1 : 10);
    running--;
    if (number === 5) throw new Error("the sixth");
  });
  await expect(work).rejects.toThrow("the sixth");
  expect(running).toBe(0);
  const before = begun.length;
  expect(before).toBeLessThan(12);
  await pause(30);
  expect(begun.length).toBe(before);
});
