import { describe, expect, test } from "vitest";
import { amdArchitectures, amdTarget, findAmdArchitecture } from "../../src/hardware/amd-architectures.ts";
import { findAmdProduct } from "../../src/hardware/amd-products.ts";

describe("targets of AMD", () => {
  test.each([
    [90000, "gfx900"],
    [90010, "gfx90a"],
    [90012, "gfx90c"],
    [90402, "gfx942"],
    [100306, "gfx1036"],
    [110501, "gfx1151"],
    [120001, "gfx1201"],
  ])("the kernel's %i is %s", (version, name) => {
    expect(amdTarget(version)).toBe(name);
    expect(findAmdArchitecture(name)).not.toBeNull();
  });

  test.each([0, 1, 90016, 91600, -90010, 90010.5, Number.NaN, 1e9])("%d is no target", (version) => {
    expect(amdTarget(version)).toBeNull();
  });

  test("a target that nobody has published is null", () => {
    expect(findAmdArchitecture("gfx1999")).toBeNull();
  });

  test.each([
    ["gfx9-generic", ["gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"]],
    ["gfx9-4-generic", ["gfx942", "gfx950"]],
    ["gfx12-generic", ["gfx1200", "gfx1201"]],
  ])("the members of %s", (generic, members) => {
    expect(amdArchitectures.filter((row) => row.generic === generic).map((row) => row.name)).toEqual(members);
  });
});

test.each([
  ["1002:6860", "gfx900", false],
  ["1002:740f", "gfx90a", false],
  ["1002:74a1", "gfx942", false],
  ["1002:164e", "gfx1036", true],
  ["1002:1586", "gfx1151", true],
  ["1002:7550", "gfx1201", false],
])("the device %s is %s", (id, target, integrated) => {
  expect(findAmdProduct(id)).toMatchObject({ target, integrated });
});

test.each(["1002:ffff", "10de:74a1", "74a1", ""])("the device %j is unknown", (id) => {
  expect(findAmdProduct(id)).toBeNull();
});
