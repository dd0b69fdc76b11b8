/**
 * Every reader of outside text takes time in proportion to it, whatever the text: that is measured for each with twice as much.
 * A text that is refused counts too; what is thrown must be a problem with a code.
 */

import { describe, expect, test } from "vitest";
import { ImgmatchError } from "../../src/errors.ts";
import { isLinear, measureGrowth } from "./support/growth.ts";
import { readers } from "./support/readers.ts";

/** What is squared takes long at the smaller size too. */
const most = process.env.IMGMATCH_LONG === "1" ? 1024 * 1024 : 128 * 1024;

describe.each(Object.entries(readers))("%s", (_, { read, texts }) => {
  test.each(Object.entries(texts))("%s: read in proportion to its size", async (_, make) => {
    const growth = await measureGrowth(make, (text) => codedOnly(read, text), most);
    expect(growth, JSON.stringify(growth)).toSatisfy(isLinear);
  });
});

test("what compares each with each is found", async () => {
  const count = (text: string) => {
    let pairs = 0;
    for (const one of text) for (const other of text) if (one === other) pairs++;
    return pairs;
  };
  const growth = await measureGrowth((size) => "a".repeat(size), count, 1024 * 1024);
  expect(growth).not.toSatisfy(isLinear);
});

test("an expression that is tried again at every character is found", async () => {
  const growth = await measureGrowth(
    (size) => `${"/".repeat(size)}_`,
    (text) => text.replace(/\/+$/, ""),
    1024 * 1024,
  );
  expect(growth).not.toSatisfy(isLinear);
});

test("what is proportional passes", async () => {
  const growth = await measureGrowth(
    (size) => "a,".repeat(size * 16),
    (text) => text.split(",").sort(),
    1024 * 1024,
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
