import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { partsFor, shrinkAwk } from "../../../src/node/sh/program-text.ts";

describe("shrinkAwk", () => {
  test.each([
    [
      "names, blanks, comments",
      "function add(list, i) {\n  # why\n  total += list / 2 }",
      "function b(a,c){d+=a/2}",
    ],
    ["no call out of a variable and a parenthesis", 'x = y " " (z)', 'a=b" "(c)'],
    ["a variable before a parenthesis", "x = y (z)", "a=b (c)"],
    ["signs that would become others", "x = y - -1 + +z", "a=b- -1+ +c"],
    [
      "expressions that hold slashes, quotes and number signs",
      's ~ /[/"#] a\\/b/ && t',
      'a~/[/"#] a\\/b/&&b',
    ],
    ["strings", 'print "a  # b \\" c"', 'print"a  # b \\" c"'],
    [
      "lines that end statements",
      "BEGIN {\n  a = 1\n\n  # why\n  b = 2; }\nEND { }",
      "BEGIN{a=1\nb=2}\nEND{}",
    ],
    ["words of awk", "k = split(ENVIRON[n], k)", "a=split(ENVIRON[b],a)"],
  ])("%s", (_, text, shrunk) => {
    expect(shrinkAwk(text)).toBe(shrunk);
  });

  test("refuses what is no awk", () => {
    expect(() => shrinkAwk('x = "open')).toThrow("awk has no word");
  });

  test("gives a program that answers the same", () => {
    const program = `function twice(of,  text) { text = of of; return text }
      BEGIN { for (n = 1; n <= 3; n++) if (n != 2) print twice(n) (n > 1 ? "!" : "") ; else print n / 2; print n - -1 }`;
    const answer = (text: string) => spawnSync("awk", [text], { encoding: "utf8" }).stdout;
    expect(answer(shrinkAwk(program))).toBe("11\n1\n33!\n5\n");
    expect(answer(program)).toBe(answer(shrinkAwk(program)));
  });
});

describe("partsFor", () => {
  const parts = (text: string, needs = {}, values = {}) => partsFor(text, needs, values);

  test("takes the lines of a need that the fleet has, and the others in place of one that it lacks", () => {
    const text = "a\n#if arm\nb @v@\n  #if amd\n  c\n  #else\n  d\n  #end\n#end\ne";
    expect(parts(text, { arm: true, amd: false }, { v: "1" })).toBe("a\nb 1\n  d\ne");
    expect(parts(text, { arm: true, amd: true }, { v: "1" })).toBe("a\nb 1\n  c\ne");
    expect(parts(text, { arm: false, amd: true })).toBe("a\ne");
  });

  test("refuses a need and a value that nobody knows", () => {
    expect(() => parts("#if arn\n#end", { arm: true })).toThrow("arn");
    expect(() => parts("@w@", {}, { v: "1" })).toThrow("w, which nobody knows");
  });

  test("puts no value into a value, and leaves a digest's sign alone", () => {
    expect(parts('@v@ "@sha256:" x', {}, { v: "@w@" })).toBe('@w@ "@sha256:" x');
  });
});
