import { expect, test } from "vitest";
import { matchesGlob } from "../../src/oci/glob.ts";

test.each([
  ["*", "", true],
  ["a*", "a", true],
  ["a*a", "a", false],
  ["a*b*c", "abbc", true],
  ["a*b*b", "ab", false],
  ["*a*", "bab", true],
  ["a.c*", "abc", false],
  ["x*y", "x\ny", true],
  ["**", "anything", true],
])("%s and %j: %s", (pattern, text, matches) => {
  expect(matchesGlob(pattern, text)).toBe(matches);
});

test("half a megabyte of stars", () => {
  const size = 500_000;
  expect(matchesGlob(`${"*".repeat(size)}b`, "a".repeat(size))).toBe(false);
  expect(matchesGlob(`${"*a".repeat(size)}*b`, "a".repeat(size))).toBe(false);
});
