import { describe, expect, test } from "vitest";
import { amdArchitectures, amdGenerics } from "../../src/hardware/amd-architectures.ts";
import { kernelRows } from "../../src/hardware/amd-kernels.ts";
import { amdDrivers } from "../../src/hardware/amd-drivers.ts";
import { genericOf } from "../../src/hardware/amd-generics.ts";
import { amdProducts } from "../../src/hardware/amd-products.ts";
import { hiddenFeatureRows } from "../../src/hardware/cpu-hidden-features.ts";
import { marchRows } from "../../src/hardware/cpu-marches.ts";
import { formatComputeCapability } from "../../src/hardware/compute-capability.ts";
import {
  cudaToolkits,
  driverBranches,
  driverFloors,
  toolkitTargets,
} from "../../src/hardware/cuda-toolkits.ts";
import { compatPackages } from "../../src/hardware/forward-compat.ts";
import { jetsonPackages } from "../../src/hardware/jetson-compat.ts";
import { gpuArchitectures } from "../../src/hardware/gpu-architectures.ts";
import { rocmTargets } from "../../src/hardware/rocm-releases.ts";
import { nameRows, virtualRows } from "../../src/hardware/gpu-name-table.ts";
import { pciRows } from "../../src/hardware/gpu-pci-table.ts";
import { machineCpuRows, machineTypeRows } from "../../src/hardware/machine-type-table.ts";
import { hardwareSources, type SourceKey } from "../../src/hardware/sources.ts";
import { compareVersions, parseVersion } from "../../src/hardware/driver-version.ts";

const architectureRows = gpuArchitectures.map(({ compute, ...row }) => ({
  ...row,
  compute: formatComputeCapability(compute),
}));

interface Row {
  readonly source: readonly SourceKey[];
}

/** Table → its rows, and what each is known by, in the order in which they stand. */
const tables: Readonly<Record<string, readonly (Row & { readonly key: string })[]>> = {
  toolkits: cudaToolkits.map((row) => ({ ...row, key: row.release })),
  floors: driverFloors.map((row) => ({ ...row, key: String(row.major) })),
  branches: driverBranches.map((row) => ({ ...row, key: String(row.branch) })),
  targets: toolkitTargets.map((row) => ({ ...row, key: row.minor })),
  packages: compatPackages().map((row) => ({ ...row, key: row.cuda })),
  jetson: jetsonPackages.map((row) => ({ ...row, key: row.cuda })),
  architectures: architectureRows.map((row) => ({ ...row, key: row.compute })),
  amdArchitectures: amdArchitectures.map((row) => ({ ...row, key: row.name })),
  amdDrivers: amdDrivers.map((row) => ({ ...row, key: row.module })),
  amdKernels: kernelRows.map((row) => ({ ...row, key: row.release })),
  amdGenerics: amdGenerics.map((row) => ({ ...row, key: row.name })),
  amdProducts: amdProducts.map((row) => ({ ...row, key: row.id })),
  rocmTargets: rocmTargets.map((row) => ({ ...row, key: row.name })),
  pci: pciRows().map((row) => ({ ...row, key: row.id })),
  virtual: virtualRows.map((row) => ({ ...row, key: row.board })),
  names: nameRows.map((row) => ({ ...row, key: row.name })),
  ...Object.fromEntries(
    Object.entries(marchRows).map(([name, rows]) => [name, rows.map((row) => ({ ...row, key: row.name }))]),
  ),
  machineCpus: machineCpuRows,
  machines: machineTypeRows.map((row) => ({ ...row, key: `${row.catalog}/${row.name}` })),
  hidden: hiddenFeatureRows.map((row) => ({ ...row, key: row.march })),
};

describe.each(Object.entries(tables))("table %s", (name, rows) => {
  test("every row names sources that exist, each once", () => {
    expect(rows.length).toBeGreaterThan(2);
    for (const { key, source } of rows) {
      expect(source.length, key).toBeGreaterThan(0);
      expect(new Set(source).size, key).toBe(source.length);
      for (const each of source) expect(Object.hasOwn(hardwareSources, each), `${key}: ${each}`).toBe(true);
    }
  });

  test("no row stands twice", () => {
    const keys = rows.map(({ key }) => key.toLowerCase());
    expect(keys.filter((key, index) => keys.indexOf(key) !== index)).toEqual([]);
  });

  test("the rows are sorted", () => {
    const keys = rows.map(({ key }) => key);
    const byNumber = (a: string, b: string) => compareVersions(parseVersion(a) ?? [], parseVersion(b) ?? []);
    const byText = (a: string, b: string) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1);
    const numbers = keys.every((key) => parseVersion(key) !== null);
    // Levels stand before the cores, in the order in which they contain each other.
    const rest = keys.filter((key) => !/^(x86-64|armv|power|rv)/.test(key));
    expect(rest).toEqual([...rest].sort(numbers ? byNumber : byText));
    if (name === "ppc64le") expect(keys).toEqual(["power8", "power9", "power10"]);
    if (name === "riscv64") expect(keys).toEqual(["rv64gc", "rva20u64", "rva22u64", "rva23u64"]);
  });
});

describe("sources", () => {
  test("every source is cited by some row or is one of the rules' sources", () => {
    const cited = new Set(Object.values(tables).flatMap((rows) => rows.flatMap((row) => row.source)));
    const unused = Object.keys(hardwareSources).filter((key) => !cited.has(key as SourceKey));
    // Cited by the report of a target, which has no table of its own.
    expect(unused).toEqual(["PGBIN"]);
  });
});

describe("values", () => {
  test("compute capabilities of products are architectures", () => {
    const known = new Set(architectureRows.map((row) => row.compute));
    const unknown = [
      ...pciRows().map((row) => row.compute),
      ...virtualRows.map((row) => row.compute),
      ...nameRows.flatMap((row) => row.compute),
    ].filter((compute) => !known.has(compute));
    expect(unknown).toEqual([]);
  });

  test("the chip of a PCI device belongs to the architecture of its compute capability", () => {
    const byChip = new Map(
      architectureRows.flatMap((row) => row.chips.map((chip) => [chip, row.compute] as const)),
    );
    // GB10B is 10.1 to CUDA 12.8 and 11.0 since 13.0; the letter B of Pascal and Ampere chips marks a respin.
    const wrong = pciRows().filter((row) => {
      const compute = byChip.get(row.chip) ?? byChip.get(row.chip.replace(/B$/, ""));
      return compute !== row.compute;
    });
    expect(wrong.map((row) => [row.id, row.chip, row.compute])).toEqual([]);
  });

  test("targets of AMD's products are architectures, and their generic targets are in the table", () => {
    const known = new Set(amdArchitectures.map((row) => row.name));
    expect(amdProducts.filter((row) => !known.has(row.target))).toEqual([]);
    const generics = new Set<string | null>([null, ...amdGenerics.map((row) => row.name)]);
    expect(amdArchitectures.filter((row) => !generics.has(row.generic))).toEqual([]);
    expect(amdArchitectures.map(({ name }) => genericOf(name))).toEqual(
      amdArchitectures.map(({ generic }) => generic),
    );
    expect(genericOf("gfx1999")).toBeUndefined();
  });

  test("a target of AMD is integrated where each of its products is", () => {
    const wrong = amdProducts.filter((row) => {
      const architecture = amdArchitectures.find((each) => each.name === row.target);
      return architecture?.integrated !== row.integrated;
    });
    // MI300A is a processor with the target of the cards MI300X and MI325X.
    expect(wrong.map((row) => row.names)).toEqual([["AMD Instinct MI300A"]]);
  });

  test("no two targets of AMD share a machine value", () => {
    const machines = [...amdArchitectures, ...amdGenerics].map((row) => row.machine);
    expect(machines.filter((machine) => !/^0x[0-9a-f]{2}$/.test(machine))).toEqual([]);
    expect(new Set(machines).size).toBe(machines.length);
  });

  test("PCI ids have the form of host facts", () => {
    expect(pciRows().filter((row) => !/^10de:[0-9a-f]{4}$/.test(row.id))).toEqual([]);
    expect(amdProducts.filter((row) => !/^1002:[0-9a-f]{4}$/.test(row.id))).toEqual([]);
  });

  test("the features of a march are Linux names, each in one list only", () => {
    for (const row of Object.values(marchRows).flat()) {
      const words = [row.required, row.hiddenRequired, row.optional, row.hiddenOptional].flatMap((text) =>
        text === undefined || text === "" ? [] : text.split(" "),
      );
      expect(new Set(words).size, row.name).toBe(words.length);
      expect(
        words.filter((word) => !/^[a-z0-9_]+$/.test(word)),
        row.name,
      ).toEqual([]);
    }
  });

  test("the hidden features that a model has are those that its march asks for", () => {
    for (const row of hiddenFeatureRows) {
      const march = marchRows.amd64.find((each) => each.name === row.march);
      expect(march?.models, row.march).toEqual(row.models);
      const asked = `${march?.hiddenRequired ?? ""} ${march?.hiddenOptional ?? ""}`.split(" ");
      expect(
        row.features.filter((feature) => !asked.includes(feature)),
        row.march,
      ).toEqual([]);
    }
  });
});
