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

/** A row of the table: one for all devices of these ids, each of four digits. */
export type PciProduct = Omit<PciRow, "id"> & { readonly ids: string };

/** Devices of NVIDIA (`10de`), sorted by their first id. */
const products = readRows<PciProduct>(table.products);

/** A row for each device, sorted by id. */
export const pciRows = once((): readonly PciRow[] =>
  products
    .flatMap(({ ids, ...row }) => ids.split(" ").map((id) => ({ id: `10de:${id}`, ...row })))
    .sort((a, b) => (a.id < b.id ? -1 : 1)),
);
