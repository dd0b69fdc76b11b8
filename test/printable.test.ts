import fc from "fast-check";
import { expect, test } from "vitest";
import { isPrintable, printable, printableLines } from "../src/printable.ts";

test.each([
  ["\u001b[31mred", "\\u001b[31mred"],
  ["a\r\nb\tc\u0007", "a\\u000d\\u000ab\\u0009c\\u0007"],
  ["\u009b2J\u0085", "\\u009b2J\\u0085"],
  ["a\u202eb\u2066c\u200fd\u200be\u2028f\ufeff", "a\\u202eb\\u2066c\\u200fd\\u200be\\u2028f\\ufeff"],
  ["\u{e0041}", "\\udb40\\udc41"],
  ["\ud800x", "\\ud800x"],
  ["größer → 日本 🙂", "größer → 日本 🙂"],
])("%j", (text, expected) => {
  expect(printable(text)).toBe(expected);
  expect(isPrintable(text)).toBe(text === expected);
});

test("lines and tabs that are the program's own stay", () => {
  expect(printableLines("a\n\tb\r\u001b")).toBe("a\n\tb\\u000d\\u001b");
});

test("JSON stays JSON with the same meaning", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const json = printableLines(JSON.stringify({ text }, null, 2));
      expect(JSON.parse(json)).toEqual({ text });
      expect(printable(printable(text))).toBe(printable(text));
      expect(isPrintable(printable(text))).toBe(true);
    }),
  );
});
