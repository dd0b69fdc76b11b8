import { describe, expect, test } from "vitest";
import { amdProducts } from "../../src/hardware/amd-products.ts";
import { cpuLevel } from "../../src/hardware/cpu-levels.ts";
import { neededFeatures } from "../../src/hardware/cpu-marches.ts";
import { parseComputeCapability } from "../../src/hardware/compute-capability.ts";
import { findGpuByName, findGpuByPci } from "../../src/hardware/gpu-products.ts";
import { machineBaselines, machineCpuRows, machineTypeRows } from "../../src/hardware/machine-type-table.ts";
import { machineCatalogs } from "../../src/hardware/machine-types.ts";

describe("the catalogue of machine types", () => {
  test("has at least 40 types with GPUs of three clouds, and NVIDIA's own systems", () => {
    const of = (catalog: string) => machineTypeRows.filter((row) => row.catalog === catalog).length;
    expect(machineTypeRows.length).toBeGreaterThanOrEqual(100);
    expect(machineCatalogs.map((catalog) => [catalog, of(catalog) >= 10])).toEqual(
      machineCatalogs.map((catalog) => [catalog, true]),
    );
    for (const { name, gpus } of machineTypeRows) expect([1, 2, 4, 8, 16], name).toContain(gpus);
  });

  test("names each type once, also without the word that Azure's begin with", () => {
    const names = machineTypeRows.map(({ name }) => name.toLowerCase().replace(/^standard_/, ""));
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    for (const { name } of machineTypeRows) expect(name).toMatch(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/);
  });

  test.each(machineTypeRows)(
    "$catalog $name: its GPU is that of the tables",
    async ({ gpu, compute, target, pci }) => {
      if (target !== undefined) {
        expect(compute).toBeUndefined();
        const cards = amdProducts.filter(({ id, names }) => id === pci || names.includes(gpu));
        expect(new Set(cards.map((card) => [card.target, card.integrated].join()))).toEqual(
          new Set([`${target},false`]),
        );
        return;
      }
      expect(parseComputeCapability(compute ?? "")).not.toBeNull();
      const found = [pci === null ? null : await findGpuByPci(pci), await findGpuByName(gpu)];
      const known = found.filter((each) => each !== null);
      expect(known.length).toBeGreaterThan(0);
      for (const each of known) expect(each.compute).toBe(compute);
    },
  );

  test("features are those of the type itself, or it says of which they are, or nobody knows them", async () => {
    const captured = new Map(machineCpuRows.map((row) => [row.key, row]));
    let alikes = 0;
    for (const row of machineTypeRows) {
      const capture = row.features === null ? null : captured.get(row.features);
      if (row.features !== null) expect(capture, row.name).toBeDefined();
      if (row.alike === true) {
        alikes++;
        // Of the same cloud, or of a machine without a hypervisor, as NVIDIA's own are.
        const [cloud, model = ""] = row.features?.split("/") ?? [];
        expect(
          cloud === row.catalog || (row.catalog === "nvidia" && model.endsWith("-metal")),
          row.name,
        ).toBe(true);
        expect(row.cpu, row.name).not.toBeNull();
        expect(row.source.length, row.name).toBeGreaterThan(1);
      } else if (row.features !== null) {
        expect([row.cpu, row.source], row.name).toEqual([null, ["SPARECORES"]]);
        expect(row.pci, row.name).not.toBeNull();
      }
    }
    expect(alikes).toBeGreaterThan(10);
    expect(machineTypeRows.filter(({ features }) => features === null).length).toBeGreaterThan(5);
    // Every capture serves some type.
    const used = new Set(machineTypeRows.map(({ features }) => features));
    expect(machineCpuRows.filter(({ key }) => !used.has(key))).toEqual([]);
  });

  test("a baseline is what every captured CPU of that name has, and a family's is no lower than its vendor's", () => {
    const vendors: Readonly<Record<string, string>> = { Intel: "GenuineIntel", AMD: "AuthenticAMD" };
    for (const { cpu, level } of machineBaselines.filter(({ source }) => source.includes("SPARECORES"))) {
      const [vendor = "", ...family] = cpu.split(" ");
      const captured = machineCpuRows.filter(
        (row) => row.vendor === vendors[vendor] && row.model.replaceAll("(R)", "").includes(family.join(" ")),
      );
      expect(captured.length, cpu).toBeGreaterThan(2);
      const levels = captured.map(({ features }) => cpuLevel("amd64", features.split(" ")) ?? "");
      expect(levels.sort()[0], cpu).toBe(level);
    }
    // Without one: rows whose source names no CPU, and a CPU that no compiler's table here has.
    const bare = machineTypeRows.filter(
      ({ cpu, features }) => features === null && !machineBaselines.some((each) => cpu?.startsWith(each.cpu)),
    );
    expect(bare.map(({ cpu }) => cpu).filter((cpu) => cpu !== null)).toEqual([
      "GB10: Cortex-X925 and Cortex-A725",
    ]);
  });

  test("what a hypervisor hides is not there: no row is a compiler's table", () => {
    const asked = new Set(neededFeatures("amd64"));
    const sets = machineCpuRows
      .filter(({ vendor }) => vendor !== "ARM")
      .map(({ features }) => features.split(" ").filter((each) => asked.has(each)).length);
    for (const size of sets) expect(size).toBeLessThan(asked.size);
  });
});
