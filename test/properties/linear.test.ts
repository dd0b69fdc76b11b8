/**
 * Every reader of outside text works in proportion to it, whatever the text: its steps are counted for each, and for eight times as much.
 * A text that is refused counts too; what is thrown must be a problem with a code.
 */

import { describe, expect, test } from "vitest";
import { ImgmatchError } from "../../src/errors.ts";
import { isLinear, measureGrowth } from "./support/growth.ts";

// Loaded when the counting has begun.
const { readers } = await import("./support/readers.ts");

describe.each(Object.entries(readers))("%s", (_, { read, texts }) => {
  test.each(Object.entries(texts))("%s: read in proportion to its size", async (_, make) => {
    const growth = await measureGrowth(make, (text) => codedOnly(read, text));
    expect(growth, JSON.stringify(growth)).toSatisfy(isLinear);
  });
});

test("what compares each with each is found", async () => {
  const count = (text: string) => {
    let pairs = 0;
    for (const one of text) for (const other of text) if (one === other) pairs++;
    return pairs;
  };
  const growth = await measureGrowth((size) => "a".repeat(size), count);
  expect(growth).not.toSatisfy(isLinear);
});

test("what searches a list again for each item, by a function of the language, is found", async () => {
  const growth = await measureGrowth(
    (size) => Array.from({ length: size }, (_, index) => index),
    (list) => list.filter((each) => list.includes(each)),
  );
  expect(growth).not.toSatisfy(isLinear);
});

test("what is proportional passes", async () => {
  const growth = await measureGrowth(
    (size) => "a,".repeat(size * 16),
    (text) => text.split(",").sort(),
  );
  expect(growth).toSatisfy(isLinear);
});

async function codedOnly(read: (text: string) => unknown, text: string): Promise<void> {
  try {
    await read(text);
  } catch (error) {
    if (!(error instanceof ImgmatchError)) throw error;
  }
}
