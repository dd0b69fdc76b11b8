import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readJson } from "../../src/io/json.ts";
import { doubledKeys } from "../../src/io/json-keys.ts";

const places = (text: string) => {
  const reading = readJson(text);
  if (!reading.ok) throw new Error(reading.fault);
  return doubledKeys(text, reading).map(
    ({ path, first, again }) => `${path} ${first.line}:${first.column} ${again.line}:${again.column}`,
  );
};

describe("a key that stands twice", () => {
  test.each([
    ['{"a":1,"a":1}', ["a 1:2 1:8"]],
    ['\uFEFF{"a":1,"a":1}', ["a 1:2 1:8"]],
    ['{ "a" : 1,\n  "\\u0061" :2 }', ["a 1:3 2:3"]],
    ['{"":1,"":2}', ['[""] 1:2 1:7']],
    ['{"__proto__":1,"__proto__":2}', ['["__proto__"] 1:2 1:16']],
    ['[{"a":{"b":[0,{"c.d":1,\r\n"c.d":[]}]}}]', ['a.b["c.d"] 1:16 2:1']],
    ['{"a":{"x":1},"a":{"x":1,"x":2},"a":0}', ["a 1:2 1:14", "a.x 1:19 1:25", "a 1:2 1:32"]],
  ])("%j", (text, expected) => expect(places(text)).toEqual(expected));

  test("is quoted", () => {
    const text = '{\n  "a": 1,\n  "a": 2\n}';
    const reading = readJson(text);
    expect(reading.ok && doubledKeys(text, reading)[0]?.again.text).toBe('  "a": 2');
  });
});

test.each([
  '"a:a"',
  "[]",
  "{}",
  "null",
  '{"a":"b\\":","b":"a:","c":{"a":["a",{"a":{}}]}}',
  '{"\\\\":1,"\\"":{}}',
])("%s has none", (text) => expect(places(text)).toEqual([]));

test("no value, written by the parser's own language, has a key twice; with a key written again it has one", () => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }),
      (value, object) => {
        expect(places(JSON.stringify(value, null, 1))).toEqual([]);
        const [key = ""] = Object.keys(object);
        const text = `[${JSON.stringify(value)},${JSON.stringify(object).slice(0, -1)},${JSON.stringify(key)}:0}]`;
        expect(places(text)).toHaveLength(1);
      },
    ),
  );
});

function membersOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce<number>((all, each) => all + membersOf(each), own);
}

test("the members of any text are counted, whatever its texts hold", () => {
  const words = fc.string({ unit: fc.constantFrom("\\", '"', "{", "}", "[", "]", ":", "a", "\n") });
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, words, fc.constant(null), tie("list"), tie("object")),
    list: fc.array(tie("value"), { maxLength: 4 }),
    object: fc.dictionary(words, tie("value"), { maxKeys: 4 }),
  }));
  fc.assert(
    fc.property(value, fc.constantFrom(0, 2), (each, indent) => {
      const text = JSON.stringify(each, null, indent);
      const reading = readJson(text);
      expect(reading.ok && reading.members).toBe(membersOf(JSON.parse(text)));
    }),
    { numRuns: 500 },
  );
  const nested = (deep: number) => `${"[".repeat(deep)}"[\\"["${"]".repeat(deep)}`;
  expect([readJson(nested(100)).ok, readJson(nested(101)).ok]).toEqual([true, false]);
});
