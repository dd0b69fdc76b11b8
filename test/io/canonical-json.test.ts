import fc from "fast-check";
import { expect, test } from "vitest";
import { canonical } from "../../src/io/canonical-json.ts";

const text = (value: unknown) => JSON.stringify(canonical(value));

test("sorts the keys of every object and leaves lists as they are", () => {
  expect(text({ b: 1, a: [{ d: 2, c: [3, 1] }, null], B: "x" })).toBe(
    '{"B":"x","a":[{"c":[3,1],"d":2},null],"b":1}',
  );
});

test("has one text for equal data, whatever order it came in", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (record) => {
      const turned = Object.fromEntries(Object.entries(record).reverse());
      expect(text(turned)).toBe(text(record));
      expect(JSON.parse(text(record))).toEqual(JSON.parse(JSON.stringify(record)));
    }),
  );
});
