import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { formatHostFacts } from "../../src/facts/format-facts.ts";
import { parseHostFacts } from "../../src/facts/parse-facts.ts";

const text = readFileSync("docs/examples/vision/hosts/h100.json", "utf8");

test("facts are written with their keys in the order of the check, whatever the order that they have", () => {
  const facts = parseHostFacts(text, "h100.json");
  const reversed = Object.fromEntries(Object.entries(facts).reverse()) as unknown as typeof facts;
  expect(formatHostFacts(reversed)).toBe(text);
});

test("a key that the check does not have is a mistake, and is not left out in silence", () => {
  const facts = { ...parseHostFacts(text, "h100.json"), colour: "red" };
  expect(() => formatHostFacts(facts)).toThrow(/colour: nobody knows this key/);
});
