import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  compareCudaVersions,
  compareDriverVersions,
  compareVersions,
  driverBranch,
  parseCudaVersion,
  parseDriverVersion,
  parseVersion,
} from "../../src/hardware/driver-version.ts";

const parts = fc.array(fc.integer({ min: 0, max: 999_999_999 }), { minLength: 1, maxLength: 4 });

describe("versions", () => {
  test.each([
    ["570.86.10", "570.124.06", -1],
    ["570.124.06", "570.124.6", 0],
    ["580.126.20", "580.95.05", 1],
    ["455.32", "455.32.00", 0],
    ["525", "525.60.13", -1],
    ["418.87.00", "418.39", 1],
    ["99.1", "100.0", -1],
  ])("driver %s against %s: %i", (a, b, expected) => {
    expect(Math.sign(compareDriverVersions(driver(a), driver(b)))).toBe(expected);
    expect(Math.sign(compareDriverVersions(driver(b), driver(a)))).toBe(0 - expected);
  });

  test("12.10 is newer than 12.9", () => {
    const [a, b] = [parseCudaVersion("12.10"), parseCudaVersion("12.9.1")];
    expect(a !== null && b !== null && compareCudaVersions(a, b) > 0).toBe(true);
  });

  test("the text stays as written, and the branch is the first part", () => {
    expect(driver("570.124.06").text).toBe("570.124.06");
    expect(driverBranch(driver("570.124.06"))).toBe(570);
  });

  test.each([
    "",
    "N/A",
    "570.",
    ".570",
    "570..1",
    "570.124.06-1",
    "v570",
    "570 ",
    "1.2.3.4.5",
    "9999999999",
    "570.1e3",
  ])("does not read %j", (text) => {
    expect(parseDriverVersion(text)).toBeNull();
  });

  test("a CUDA version has a minor", () => {
    expect(parseCudaVersion("12")).toBeNull();
    expect(parseCudaVersion("12.8.1.1")).toBeNull();
  });

  test("parsing keeps every number exactly", () => {
    fc.assert(
      fc.property(parts, (each) => {
        expect(parseVersion(each.join("."))).toEqual(each);
      }),
    );
  });

  test("comparing is a total order in which a missing part is 0", () => {
    fc.assert(
      fc.property(parts, parts, parts, (a, b, c) => {
        expect(Math.sign(compareVersions(a, b))).toBe(0 - Math.sign(compareVersions(b, a)));
        if (compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0)
          expect(compareVersions(a, c)).toBeLessThanOrEqual(0);
        expect(compareVersions(a, [...a, 0])).toBe(0);
      }),
    );
  });
});

function driver(text: string) {
  const version = parseDriverVersion(text);
  if (version === null) throw new Error(`not a version: ${text}`);
  return version;
}
