import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  compareComputeCapability,
  formatComputeCapability,
  parseComputeCapability,
} from "../../src/hardware/compute-capability.ts";

const capability = fc.record({
  major: fc.integer({ min: 1, max: 99 }),
  minor: fc.integer({ min: 0, max: 9 }),
});

describe("compute capability", () => {
  test.each([
    ["9.0", { major: 9, minor: 0 }],
    ["10.3", { major: 10, minor: 3 }],
    ["12.1", { major: 12, minor: 1 }],
  ])("reads %s", (text, expected) => {
    expect(parseComputeCapability(text)).toEqual(expected);
  });

  test.each([
    "",
    "9",
    "9.",
    ".0",
    "9.10",
    "09.0",
    "0.1",
    "9.0a",
    " 9.0",
    "9.0\n",
    "sm_90",
    "100.0",
    "-9.0",
    "N/A",
  ])("does not read %j", (text) => {
    expect(parseComputeCapability(text)).toBeNull();
  });

  test("parse and format are inverses", () => {
    fc.assert(
      fc.property(capability, (each) => {
        expect(parseComputeCapability(formatComputeCapability(each))).toEqual(each);
      }),
    );
  });

  test("10.0 comes after 9.0, as numbers do and texts do not", () => {
    const texts = ["9.0", "10.0", "8.9", "12.1", "2.1"];
    const sorted = texts.map((text) => parseComputeCapability(text)).filter((each) => each !== null);
    expect(sorted.sort(compareComputeCapability).map(formatComputeCapability)).toEqual([
      "2.1",
      "8.9",
      "9.0",
      "10.0",
      "12.1",
    ]);
  });
});
