/** Finds compute capability and class of a GPU by its PCI id or name. */

import { groupBy, once } from "../io/collections.ts";
import { classifyGpu, type GpuClass } from "./gpu-class.ts";
import type { PciProduct } from "./gpu-pci-table.ts";
import { readRows } from "./read-rows.ts";
import type { SourceKey } from "./sources.ts";

export interface GpuProduct {
  /** Compute capability as in host facts: `9.0`. */
  readonly compute: string;
  readonly class: GpuClass;
  /** The name that NVIDIA's driver prints, or the marketing name; null for a device without one. */
  readonly name: string | null;
  /** null for a product that is not on PCI. */
  readonly chip: string | null;
  readonly source: readonly SourceKey[];
}

/**
 * Finds a GPU by `vendor:device` (`10de:2330`). The id is exact per chip and does not depend on the driver, so it goes
 * before any name. null for a device that is not in the table, or whose chip is not confirmed.
 * The table is read at the first call.
 */
export async function findGpuByPci(pci: string): Promise<GpuProduct | null> {
  const row = await findPciRow(pci.toLowerCase());
  if (row === undefined || row.unverified === true) return null;
  const names = row.names.length > 0 ? row.names : row.label === undefined ? [] : [row.label];
  return {
    compute: row.compute,
    class: row.chip === "GB10B" ? "tegra" : commonClass(names),
    // null if boards with different names share the id.
    name: names.length === 1 ? (names[0] ?? null) : null,
    chip: row.chip,
    source: row.source,
  };
}

/** A host asks for one or two: the rows of all would take longer than all of NVML's answers, and so would the module that makes them. */
async function findPciRow(id: string): Promise<PciProduct | undefined> {
  const [vendor, device = ""] = id.split(":");
  if (vendor !== "10de" || !/^[0-9a-f]{4}$/.test(device)) return undefined;
  const { default: table } = await import("./gpu-pci.json", { with: { type: "json" } });
  return readRows<PciProduct>(table.products).find(({ ids }) => ids.includes(device));
}

/**
 * Finds a GPU by the name that a driver prints, also a virtual GPU. A leading `NVIDIA ` and the case do not count, because drivers before
 * R470 print no prefix. null for an unknown name, and for a name that products of different compute capabilities share: `GeForce GT 730`, or
 * `GeForce RTX 3060`, which guests of streaming servers print too.
 */
export async function findGpuByName(name: string): Promise<GpuProduct | null> {
  const found = (await products()).get(normalizeName(name)) ?? [];
  const [first] = found;
  if (first === undefined || found.some((each) => each.compute !== first.compute)) return null;
  const chip = found.every((each) => each.chip === first.chip) ? first.chip : null;
  return { ...first, chip };
}

/** Every product whose name contains a text, sorted by name, boards before virtual GPUs. */
export async function searchGpus(text: string): Promise<readonly GpuProduct[]> {
  const wanted = normalizeName(text);
  if (wanted === "") return [];
  const found = [...(await products())].filter(([name]) => name.includes(wanted));
  const sorted = found.sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([, sameName]) => distinct(sameName));
  return [...sorted.filter((each) => each.chip !== null), ...sorted.filter((each) => each.chip === null)];
}

// Loaded once for all GPUs of a host.
const products = once(loadNames);

async function loadNames(): Promise<ReadonlyMap<string, readonly GpuProduct[]>> {
  const [{ pciRows }, { nameRows, virtualRows }] = await Promise.all([
    import("./gpu-pci-table.ts"),
    import("./gpu-name-table.ts"),
  ]);
  const all = [
    ...pciRows()
      .filter((row) => row.unverified !== true)
      .flatMap((row) =>
        row.names.map((name) => ({ name, compute: row.compute, chip: row.chip, source: row.source })),
      ),
    ...virtualRows.flatMap((row) =>
      row.profiles.split(" ").map((profile) => ({
        name: `${row.board}-${profile}`,
        compute: row.compute,
        chip: null,
        source: row.source,
      })),
    ),
    ...nameRows.flatMap(({ name, compute, source }) =>
      compute.map((each) => ({ name, compute: each, chip: null, source })),
    ),
  ];
  const classified = all.map((product) => ({ ...product, class: classifyGpu(product.name) }));
  return groupBy(classified, ({ name }) => normalizeName(name));
}

/** Drivers and pci.ids write `Tesla V100-SXM2-16GB` and `Tesla V100 SXM2 16GB` for one product. */
function normalizeName(name: string): string {
  return name
    .toLowerCase()
    .replace(/[-\s()]+/g, " ")
    .trim()
    .replace(/^nvidia /, "");
}

/** One product stands for all devices of the same name and compute capability. */
function distinct(sameName: readonly GpuProduct[]): readonly GpuProduct[] {
  return [...new Map(sameName.map((product) => [product.compute, product])).values()];
}

function commonClass(names: readonly string[]): GpuClass {
  const [first = "unknown", ...others] = new Set(names.map(classifyGpu));
  return others.length === 0 ? first : "unknown";
}
