import { describe, expect, it } from "vitest";
import { compareFleetVersions } from "../../src/trust/seen-indexes.ts";

describe("compareFleetVersions", () => {
  it.each([
    // semver.org, 11: its own example, and numbers inside of words as numbers.
    [
      "1.0.0-alpha",
      "1.0.0-alpha.1",
      "1.0.0-alpha.beta",
      "1.0.0-beta",
      "1.0.0-beta.2",
      "1.0.0-beta.11",
      "1.0.0-rc.1",
      "1.0.0",
    ],
    ["1.0.0-rc2", "1.0.0-rc10", "1.0.0", "1.0.1-rc1", "1.0.1", "1.9.0", "1.10.0", "2"],
    ["1.4.0-rc1", "1.4.0", "1.4.0-3-g0c2f4d5e6a7b", "1.4.0-12-g9c2f4d5e6a7b", "1.4.1-rc1"],
    ["2024.9.30", "2024.10.1", "v2025.1"],
    ["9007199254740993", "9007199254740994", "10000000000000000000000000000"],
  ])("orders %s, %s, …", (...versions) => {
    for (const [index, one] of versions.entries())
      for (const [at, other] of versions.entries())
        expect(Math.sign(compareFleetVersions(one, other) ?? Number.NaN), `${one} and ${other}`).toBe(
          Math.sign(index - at),
        );
  });

  it("takes what is written otherwise for the same", () => {
    for (const other of ["v1.2", "1.2.0", "01.02", "1.2+build7"])
      expect(compareFleetVersions("1.2", other)).toBe(0);
  });

  it("cannot tell of commits, names, and changes since one tag that went two ways", () => {
    const pairs = [
      ["9f3c1a2b4d5e", "0c2f4d5e6a7b"],
      ["main", "1.0.0"],
      ["1.4.0-3-g0c2f4d5e6a7b", "1.4.0-3-g1c2f4d5e6a7b"],
    ] as const;
    for (const [one, other] of pairs) {
      expect(compareFleetVersions(one, other)).toBeNull();
      expect(compareFleetVersions(other, one)).toBeNull();
      expect(compareFleetVersions(one, one)).toBe(0);
    }
  });
});
