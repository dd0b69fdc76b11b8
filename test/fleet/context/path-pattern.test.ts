import { describe, expect, test } from "vitest";
import { compilePathPattern } from "../../../src/fleet/context/path-pattern.ts";

const matches = (pattern: string, path: string) => compilePathPattern(pattern)?.(path) ?? null;

describe("patterns of COPY", () => {
  test.each([
    ["*.c", "main.c"],
    ["*", "a/b"],
    ["a*", "abc/d"],
    ["**/b.h", "lib/deep/b.h"],
    ["a***c", "abbc"],
    ["?", "é"],
    ["?", "🙂"],
    ["[a-c]", "b"],
    ["[^a-c]", "d"],
    ["[.*+]", "*"],
    ["[]]", "]"],
    ["[a\\-z]", "-"],
    ["\\*", "*"],
    ["a.c", "a.c"],
    ["a[", "a["],
  ])("%s is %s", (pattern, path) => expect(matches(pattern, path)).toBe(true));

  test.each([
    ["*.c", "lib/main.c"],
    ["a?b", "a/b"],
    ["a***c", "a/c"],
    ["[a-c]", "d"],
    ["[^a-c]", "b"],
    ["\\*", "a"],
    ["a.c", "abc"],
    ["a*", "b"],
  ])("%s is not %s", (pattern, path) => expect(matches(pattern, path)).toBe(false));

  test("a range that ends before it begins is none", () => expect(compilePathPattern("[z-a]")).toBeNull());

  test("many stars take no time", () => {
    expect(matches(`${"*a".repeat(500)}*b`, "a".repeat(1000))).toBe(false);
  });
});
