import { expect, test } from "vitest";
import { matchesGlob } from "../../src/oci/glob.ts";

test.each([
  ["x86-64-*", "x86-64-v3", true],
  ["x86-64-*", "x86-64", false],
  ["*-v3", "x86-64-v3", true],
  ["*", "", true],
  ["a*b*c", "a-b-b-c", true],
  ["a*b*c", "a-c-b", false],
  // Nothing but the star has a meaning.
  ["12.*", "1200", false],
  ["(a|b)*", "a1", false],
  ["[a]?*", "[a]?b", true],
])("%s and %s: %s", (pattern, text, matches) => {
  expect(matchesGlob(pattern, text)).toBe(matches);
});
