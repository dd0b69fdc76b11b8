import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatComputeCapability, parseComputeCapability } from "../../src/hardware/compute-capability.ts";
import { gpuArchitectures } from "../../src/hardware/gpu-architectures.ts";
import {
  formatGpuTarget,
  type GpuTarget,
  isTegra,
  parseGpuTarget,
  targetRunsOn,
  virtualTarget,
} from "../../src/hardware/gpu-target.ts";

const target: fc.Arbitrary<GpuTarget> = fc.record({
  kind: fc.constantFrom("sass", "ptx"),
  compute: fc.record({ major: fc.integer({ min: 1, max: 99 }), minor: fc.integer({ min: 0, max: 9 }) }),
  suffix: fc.constantFrom("", "a", "f"),
});

describe("names of targets", () => {
  test("the last digit is the minor", () => {
    expect(parseGpuTarget("sm_103")).toEqual({ kind: "sass", compute: { major: 10, minor: 3 }, suffix: "" });
    expect(parseGpuTarget("sm_90a")).toEqual({ kind: "sass", compute: { major: 9, minor: 0 }, suffix: "a" });
    expect(parseGpuTarget("compute_120f")).toEqual({
      kind: "ptx",
      compute: { major: 12, minor: 0 },
      suffix: "f",
    });
  });

  test.each([
    "",
    "sm_9",
    "sm_090",
    "sm_90b",
    "sm_90af",
    "SM_90",
    "sm90",
    "compute_",
    "lto_90",
    "sm_90 ",
    "sm_1000",
  ])("does not read %j", (text) => {
    expect(parseGpuTarget(text)).toBeNull();
  });

  test("parse and format are inverses", () => {
    fc.assert(
      fc.property(target, (each) => {
        expect(parseGpuTarget(formatGpuTarget(each))).toEqual(each);
      }),
    );
  });

  test("sm_21 is compiled from compute_20, every other target from its own", () => {
    expect(formatGpuTarget(virtualTarget(read("sm_21")))).toBe("compute_20");
    expect(formatGpuTarget(virtualTarget(read("sm_90a")))).toBe("compute_90a");
  });
});

/**
 * Cubins and PTX of each target, tried on every `-arch` of nvlink and ptxas 13.0.88: an offline check, which asks whether code
 * can be linked for an `-arch`, not whether a device runs it. `90`, `90a` and `100`, `100a`, `100f` are one device each, so the
 * suffixes of what accepted it are dropped here: nvlink lets sm_90 code into a program for 90a, and that program runs on 9.0.
 */
const devices13 = ["7.5", "8.0", "8.6", "8.7", "8.8", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1"];

const nvlinkAccepts: Readonly<Record<string, string>> = {
  sm_75: "75",
  sm_80: "80 86 89",
  sm_86: "86 89",
  sm_87: "87",
  sm_88: "88",
  sm_89: "89",
  sm_90: "90 90a",
  sm_90a: "90 90a",
  sm_100: "100 100a 100f 103 103a 103f",
  sm_100a: "100 100a 100f",
  sm_100f: "100 100a 100f 103 103a 103f",
  sm_103: "103 103a 103f",
  sm_103a: "103 103a 103f",
  sm_103f: "103 103a 103f",
  sm_110: "110 110a 110f",
  sm_110a: "110 110a 110f",
  sm_110f: "110 110a 110f",
  sm_120: "120 120a 120f 121 121a 121f",
  sm_120a: "120 120a 120f",
  sm_120f: "120 120a 120f 121 121a 121f",
  sm_121: "121 121a 121f",
  sm_121a: "121 121a 121f",
  sm_121f: "121 121a 121f",
};

const from90 = "90 90a 100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f";
const from100 = "100 100a 100f 103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f";
const ptxasAccepts: Readonly<Record<string, string>> = {
  compute_75: `75 80 86 87 88 89 ${from90}`,
  compute_80: `80 86 87 88 89 ${from90}`,
  compute_86: `86 87 88 89 ${from90}`,
  compute_87: `87 88 89 ${from90}`,
  compute_88: `88 89 ${from90}`,
  compute_89: `89 ${from90}`,
  compute_90: from90,
  compute_90a: "90a",
  compute_100: from100,
  compute_100a: "100a",
  compute_100f: "100 100a 100f 103 103a 103f",
  compute_103: "103 103a 103f 110 110a 110f 120 120a 120f 121 121a 121f",
  compute_103a: "103a",
  compute_103f: "103 103a 103f",
  compute_110: "110 110a 110f 120 120a 120f 121 121a 121f",
  compute_110a: "110a",
  compute_110f: "110 110a 110f",
  compute_120: "120 120a 120f 121 121a 121f",
  compute_120a: "120a",
  compute_120f: "120 120a 120f 121 121a 121f",
  compute_121: "121 121a 121f",
  compute_121a: "121a",
  compute_121f: "121 121a 121f",
};

describe("which devices run a target", () => {
  test.each(Object.entries({ ...nvlinkAccepts, ...ptxasAccepts }))(
    "%s: as NVIDIA's tools accept it",
    (name, accepted) => {
      const expected = devices13.filter((device) =>
        accepted.match(/\d+/g)?.includes(device.replace(".", "")),
      );
      expect(devices13.filter((device) => runs(name, device))).toEqual(expected);
    },
  );

  test.each([
    // Older than nvcc 13.0: from the programming guide.
    ["sm_52", "5.2", true],
    ["sm_52", "5.0", false],
    ["sm_50", "5.2", true],
    ["sm_50", "5.3", false],
    ["sm_60", "6.1", true],
    ["sm_60", "6.2", false],
    ["sm_61", "7.0", false],
    ["sm_70", "7.5", true],
    ["sm_70", "7.2", false],
    ["sm_72", "7.2", true],
    ["sm_72", "7.5", false],
    ["sm_35", "3.7", true],
    ["sm_30", "3.2", false],
    ["sm_20", "2.1", true],
    ["compute_52", "12.1", true],
    ["compute_61", "5.2", false],
    ["compute_80", "8.7", true],
    // Thor before and after its renaming: not known to be the same to a driver.
    ["sm_101", "11.0", false],
    ["sm_101a", "11.0", false],
    ["sm_101f", "11.0", false],
    ["compute_101", "11.0", true],
    // Families are NVIDIA's table, and a table only.
    ["sm_100f", "10.7", true],
    ["sm_103f", "10.7", true],
    ["sm_107f", "10.3", false],
    ["sm_100f", "10.1", false],
    ["compute_100f", "11.0", false],
    ["compute_100f", "12.0", false],
    ["sm_90f", "9.0", false],
    ["sm_130f", "13.0", false],
    // Desktop Blackwell shares nothing with data-centre Blackwell.
    ["sm_100", "12.0", false],
    ["sm_90a", "10.0", false],
    ["compute_90a", "10.0", false],
  ] as const)("%s on %s: %s", (name, device, expected) => {
    expect(runs(name, device)).toBe(expected);
  });

  test("a device of an unknown later minor runs the code of its major", () => {
    expect(runs("sm_90", "9.9")).toBe(true);
  });

  test("SASS never crosses a major, specific code never leaves its device", () => {
    const device = fc.constantFrom(...gpuArchitectures.map((row) => row.compute));
    fc.assert(
      fc.property(target, device, (each, on) => {
        if (!targetRunsOn(each, on)) return;
        if (each.kind === "sass") expect(on.major).toBe(each.compute.major);
        if (each.suffix === "a") expect(on).toEqual(each.compute);
        if (each.suffix === "f") expect(on.major).toBe(each.compute.major);
      }),
      { numRuns: 10_000 },
    );
  });

  test("Tegra in the rule is Tegra in the table of architectures", () => {
    const bySet = gpuArchitectures
      .filter((row) => isTegra(row.compute))
      .map((row) => formatComputeCapability(row.compute));
    const byTable = gpuArchitectures
      .filter((row) => row.platform === "tegra")
      .map((row) => formatComputeCapability(row.compute));
    expect(bySet).toEqual(byTable);
  });

  test("every family target that a toolkit compiles runs at least on its own device", () => {
    const targets = gpuArchitectures.flatMap((row) => Object.keys(row.specific).map((each) => `sm_${each}`));
    expect(targets.length).toBeGreaterThan(12);
    for (const name of targets) expect(targetRunsOn(read(name), read(name).compute), name).toBe(true);
  });
});

function runs(name: string, device: string): boolean {
  const compute = parseComputeCapability(device);
  if (compute === null) throw new Error(`not a compute capability: ${device}`);
  return targetRunsOn(read(name), compute);
}

function read(name: string): GpuTarget {
  const parsed = parseGpuTarget(name);
  if (parsed === null) throw new Error(`not a target: ${name}`);
  return parsed;
}
