import { expect, test } from "vitest";
import { compareFirst, compareText, sortedEntries } from "../../src/io/collections.ts";

test("orders by code units and not by a language", () => {
  expect(["b", "ä", "a", "B", "10", "9"].sort(compareText)).toEqual(["10", "9", "B", "a", "b", "ä"]);
  expect(compareText("a", "a")).toBe(0);
});

test("orders pairs by their first, equal ones as they came", () => {
  const pairs = [
    ["b", 1],
    ["a", 2],
    ["b", 0],
  ] as const;
  expect([...pairs].sort(compareFirst)).toEqual([
    ["a", 2],
    ["b", 1],
    ["b", 0],
  ]);
});

test("lists a record by its names", () => {
  expect(sortedEntries({ b: 1, a: 2 })).toEqual([
    ["a", 2],
    ["b", 1],
  ]);
});
