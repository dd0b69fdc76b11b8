/** The kit that facts, locks, requirements and indexes are checked with. */

import { describe, expect, test } from "vitest";
import {
  anyText,
  type Check,
  checked,
  exactly,
  ifPresent,
  list,
  map,
  object,
  oneOf,
  optional,
  orNull,
  record,
  requireChecked,
  schemaVersion,
  shape,
  someText,
  text,
  truth,
  variants,
  wholeNumber,
} from "../../src/io/checks.ts";

const mistakes = (value: unknown, check: Check<unknown>) => {
  const reading = checked(value, check, "it");
  return reading.ok ? [] : reading.mistakes;
};

describe("one value", () => {
  test.each<[string, Check<unknown>, readonly unknown[], readonly [unknown, string][]]>([
    ["a text", anyText, ["", "a"], [[1, "expected text, found number 1"]]],
    [
      "a text with something",
      someText,
      ["a", "\n"],
      [["", 'expected a text that is not empty, found text ""']],
    ],
    ["a grammar", text(/^a+$/, "letters a"), ["aa"], [["ab", 'expected letters a, found text "ab"']]],
    [
      "a whole number",
      wholeNumber,
      [0, 7],
      [
        [-1, "expected a whole number from 0, found number -1"],
        [1.5, "expected a whole number from 0, found number 1.5"],
        [2 ** 53, "expected a whole number from 0, found number 9007199254740992"],
      ],
    ],
    ["true or false", truth, [true, false], [["true", 'expected true or false, found text "true"']]],
    ["one of some", oneOf("a", "b"), ["b"], [["c", 'expected a, b, found text "c"']]],
    ["null or", orNull(truth), [null, true], [[undefined, "expected true or false, found nothing"]]],
    [
      "a schema",
      schemaVersion(1),
      [1],
      [
        [2, "expected 1, found number 2; a newer imgmatch wrote it"],
        [0, "expected 1, found number 0"],
      ],
    ],
  ])("%s", (_, check, good, bad) => {
    for (const value of good) expect(checked(value, check, "it")).toEqual({ ok: true, value });
    for (const [value, message] of bad) expect(mistakes(value, check)).toEqual([`it: ${message}`]);
  });

  test("a long text is cut, and what is deep is not opened", () => {
    expect(mistakes("x".repeat(1000), truth)[0]).toHaveLength(
      "it: expected true or false, found text ".length + 61,
    );
    expect(mistakes([[]], truth)).toEqual(["it: expected true or false, found a list"]);
  });
});

describe("values in others", () => {
  const item = object<{ name: string; size?: number }>({ name: someText, size: ifPresent(wholeNumber) });

  test("every mistake has the place of its value", () => {
    const whole = object({ items: list(item), by: record(item) });
    expect(
      mistakes({ items: [{ name: "" }, 7, { name: "a", size: null }], by: { "x y": { name: 1 } } }, whole),
    ).toEqual([
      'items[0].name: expected a text that is not empty, found text ""',
      "items[1]: expected an object, found number 7",
      "items[2].size: expected a whole number from 0, found null",
      'by["x y"].name: expected a text that is not empty, found number 1',
    ]);
  });

  test("what is read has the members that were asked for, and what is kept has all", () => {
    const given = { name: "a", more: true };
    expect(checked(given, item, "it")).toEqual({ ok: true, value: { name: "a" } });
    const kept = shape<{ name: string }>({ name: someText });
    expect(checked(given, kept, "it")).toEqual({ ok: true, value: given });
    expect(mistakes({ more: true }, kept)).toHaveLength(1);
  });

  test("the type is asked of the members, and not made of them", () => {
    type Item = { readonly name: string; readonly size?: number };
    // @ts-expect-error: size is missing. It may be absent in what is read, and still has a check.
    const forgotten: readonly Check<Item>[] = [exactly({ name: someText })];
    // @ts-expect-error: the same.
    const kept: readonly Check<Item>[] = [shape({ name: someText }), object({ name: someText })];
    expect(forgotten.map((check) => mistakes({ name: "a", size: 1 }, check).length)).toEqual([1]);
    expect(kept.map((check) => mistakes({ name: "a", size: 1 }, check).length)).toEqual([0, 0]);
  });

  test("absent and null are unknown, or what is said for them", () => {
    const check = object({ a: optional(truth), b: optional(truth, false), c: optional(map(truth, String)) });
    expect(checked({ b: null, c: true }, check, "it")).toEqual({
      ok: true,
      value: { a: null, b: false, c: "true" },
    });
  });

  test("an object is of the kind that it names", () => {
    const check = variants<object>("kind", {
      circle: object({ kind: oneOf("circle"), radius: wholeNumber }),
      point: object({ kind: oneOf("point") }),
    });
    expect(checked({ kind: "point" }, check, "it").ok).toBe(true);
    expect(mistakes({ kind: "circle" }, check)).toEqual([
      "radius: expected a whole number from 0, found nothing",
    ]);
    expect(mistakes({ kind: "constructor" }, check)).toEqual([
      'kind: expected circle, point, found text "constructor"',
    ]);
    expect(mistakes(null, check)).toEqual(["it: expected an object, found null"]);
  });

  test("a list may have an end", () => {
    expect(mistakes([1, 2], list(wholeNumber, 2))).toEqual([]);
    expect(mistakes([1, 2, 3], list(wholeNumber, 2))).toEqual(["it: expected at most 2 entries, found 3"]);
  });
});

test("no more mistakes than a person reads, and that there are more", () => {
  const found = mistakes(Array.from({ length: 10_000 }), list(truth));
  expect(found).toHaveLength(50);
  expect(found.at(-1)).toBe("9951 more mistakes are not listed");
  expect(mistakes(Array.from({ length: 50 }), list(truth)).at(-1)).toMatch(/^\[49\]: /);
});

test("what is refused as a whole carries every mistake", () => {
  const pair = object({ a: truth, b: truth });
  expect(requireChecked({ a: true, b: false }, pair, "it", { code: "USAGE" })).toEqual({ a: true, b: false });
  expect(() => requireChecked({}, pair, "it", { code: "USAGE", fix: "do" })).toThrow(
    expect.objectContaining({
      problems: [
        { code: "USAGE", message: "a: expected true or false, found nothing", fix: "do" },
        { code: "USAGE", message: "b: expected true or false, found nothing", fix: "do" },
      ],
    }),
  );
});
