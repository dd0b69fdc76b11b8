import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pack, unpack } from "../../../src/cover/page/packed.ts";
import { runs, timeoutMs } from "../../properties/support/runs.ts";

describe("packed data", () => {
  it("is unpacked as it was, whatever its names and texts are", { timeout: timeoutMs }, () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(unpack(pack(value))).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: Math.ceil(runs / 10) },
    );
    const hostile = JSON.parse('{"__proto__":{"constructor":1},"toString":["\\ud800","\\u2028"],"":[[],{}]}');
    const back = unpack(pack(hostile)) as Record<string, unknown>;
    expect(JSON.stringify(back)).toBe(JSON.stringify(hostile));
    expect(Object.getPrototypeOf(back)).toBe(Object.prototype);
  });

  it("says what is equal once", () => {
    const one = { name: "x".repeat(100), list: [1, 2, 3] };
    const many = pack(Array.from({ length: 1000 }, () => ({ ...one })));
    expect(many.length).toBeLessThan(pack([one]).length + 4000);
  });

  it("leaves out what is undefined, as JSON does, and reads what is worked out when it is asked for", () => {
    const value = {
      a: undefined,
      get b() {
        return 1;
      },
    };
    expect(unpack(pack(value))).toEqual({ b: 1 });
  });
});
