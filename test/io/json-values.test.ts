import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { splitJson } from "../../src/io/json-values.ts";

const read = (text: string) =>
  splitJson(text).map((each) => (each.ok ? [each.line, each.value] : [each.line, each.fault]));

describe("JSON values that follow one another", () => {
  it("are told apart, however they are laid out", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.tuple(
            fc.oneof(fc.dictionary(fc.string(), fc.jsonValue()), fc.array(fc.jsonValue())),
            fc.constantFrom(0, 2),
            fc.constantFrom("\n", "\n\n", " "),
          ),
        ),
        (values) => {
          const text = values
            .map(([value, indent, end]) => JSON.stringify(value, null, indent) + end)
            .join("");
          expect(splitJson(text).map((each) => each.ok && each.value)).toEqual(
            values.map(([value]) => JSON.parse(JSON.stringify(value))),
          );
        },
      ),
    );
  });

  it.each([
    ["nothing", " \n\n", []],
    ["a byte order mark", '\uFEFF{"a":1}', [[1, { a: 1 }]]],
    [
      "what a login shell says",
      'Welcome!\n{"a":1}\n',
      [
        [1, "not JSON"],
        [2, { a: 1 }],
      ],
    ],
    [
      "a line that is cut off in a string",
      '{"a":"b\n{"a":1}',
      [
        [1, "not JSON"],
        [2, { a: 1 }],
      ],
    ],
    [
      "a text that is cut off",
      '{"a":1}\n{"a":',
      [
        [1, { a: 1 }],
        [2, "not JSON"],
      ],
    ],
    [
      "too deep a line",
      `${"[".repeat(101)}${"]".repeat(101)}\n{"a":1}`,
      [
        [1, "nested more than 100 deep"],
        [2, { a: 1 }],
      ],
    ],
  ])("%s", (_, text, expected) => expect(read(text)).toEqual(expected));
});
