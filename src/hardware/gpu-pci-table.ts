/**
 * GPUs by PCI id. The chip decides the compute capability; names are what NVIDIA's driver prints (OGKM), or the marketing
 * names of pci.ids for the chips before Turing, where the driver's own list was not published.
 */

import { once } from "../io/collections.ts";
import table from "./gpu-pci.json" with { type: "json" };
import { readRows, type SourcedRow } from "./read-rows.ts";

export interface PciRow extends SourcedRow {
  readonly id: string;
  readonly compute: string;
  readonly chip: string;
  readonly names: readonly string[];
  /** A name of pci.ids, for a device whose name by a driver is unknown. */
  readonly label?: string;
  /** The compute capability is not confirmed for this device, so no answer uses the row. */
  readonly unverified?: true;
}

/** Devices of NVIDIA (`10de`), sorted by their first id. */
const products = readRows<Omit<PciRow, "id"> & { readonly ids: string }>(table.products);

/** A row for each device, sorted by id. */
export const pciRows = once((): readonly PciRow[] =>
  products
    .flatMap(({ ids, ...row }) => ids.split(" ").map((id) => ({ id: `10de:${id}`, ...row })))
    .sort((a, b) => (a.id < b.id ? -1 : 1)),
);

/** The row of a device (`10de:2330`). A host asks for one or two: the rows of all would take longer than all of NVML's answers. */
export function findPciRow(id: string): Omit<PciRow, "id"> | undefined {
  const [vendor, device = ""] = id.split(":");
  return vendor === "10de" && /^[0-9a-f]{4}$/.test(device)
    ? products.find(({ ids }) => ids.includes(device))
    : undefined;
}
