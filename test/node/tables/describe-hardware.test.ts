import { describe, expect, test } from "vitest";
import { describeHardware, hardwareKinds } from "../../../src/node/tables/describe-hardware.ts";

describe("hardware tables for people", () => {
  test("without a kind: all tables", async () => {
    const report = await describeHardware();
    expect(report?.tables.map((table) => table.id)).toEqual([
      "toolkits",
      "branches",
      "packages",
      "rocm",
      "amd-drivers",
      "architectures",
      "amd-targets",
      "amd-generics",
      "marches",
      "machines",
    ]);
  });

  test.each([
    ["cuda", "12.8.1", ["toolkits", "branches", "packages"], 1],
    ["cuda", "12.8", ["toolkits", "branches", "packages"], 2],
    ["cuda", "570.124.06", ["branches"], 1],
    ["gpu", "9.0", ["architectures"], 1],
    ["gpu", "sm_80", ["devices"], 3],
    ["gpu", "10de:2330", ["products", "architectures"], 1],
    ["rocm", "5.6", ["rocm", "amd-drivers"], 24],
    ["rocm", "30.10", ["amd-drivers"], 1],
    ["gpu", "gfx90a:xnack+", ["amd-targets"], 1],
    ["gpu", "gfx11-generic", ["amd-targets", "amd-generics"], 8],
    ["gpu", "MI300X", ["amd-products", "amd-targets", "amd-generics"], 4],
    ["gpu", "1002:74a1", ["amd-products", "amd-targets", "amd-generics"], 1],
    ["cpu", "broadwell", ["marches", "features"], 1],
    ["machine", "p5.", ["machines"], 2],
    ["machine", "nvidia", ["machines"], 11],
    ["machine", "L40S", ["machines"], 8],
    ["machine", "l4", ["machines"], 23],
  ] as const)("%s %s: %j", async (kind, name, ids, rows) => {
    const report = await describeHardware(kind, name);
    expect(report?.tables.map((table) => table.id)).toEqual(ids);
    expect(report?.tables[0]?.rows.length).toBe(rows);
  });

  test("a feature finds the marches that need it, by either name", async () => {
    const names = async (feature: string) =>
      (await describeHardware("cpu", feature))?.tables[0]?.rows.map((row) => row.name);
    expect(await names("avx512_fp16")).toEqual([
      "emeraldrapids",
      "graniterapids",
      "graniterapids-d",
      "sapphirerapids",
    ]);
    expect(await names("avx512fp16")).toEqual(await names("avx512_fp16"));
  });

  test.each(hardwareKinds)("%s: an unknown name is null", async (kind) => {
    expect(await describeHardware(kind, "no-such-thing")).toBeNull();
  });

  test("every row has every column, and its sources are explained", async () => {
    const report = await describeHardware();
    for (const table of report?.tables ?? []) {
      for (const row of table.rows) {
        expect(Object.keys(row), table.id).toEqual(table.columns);
        for (const key of row.source) expect(report?.sources[key], key).toBeTypeOf("string");
      }
    }
  });
});
