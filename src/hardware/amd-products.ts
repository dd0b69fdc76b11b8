/**
 * GPUs of AMD by device id: the names, and the targets, which some kernels do not print. The table is large; only a host with such a GPU
 * loads it.
 */

import table from "./amd-products.json" with { type: "json" };
import { readRows, type SourcedRow } from "./read-rows.ts";

export interface AmdProduct extends SourcedRow {
  /** `vendor:device`: `1002:74a1`. */
  readonly id: string;
  readonly target: string;
  /** Part of a processor, and not a card. */
  readonly integrated: boolean;
  /** The part of a card that a hypervisor gives to a guest. */
  readonly virtual?: true;
  /** The names of all boards with the id. The boards differ in the revision. */
  readonly names: readonly string[];
}

const products = readRows<Omit<AmdProduct, "id"> & { readonly ids: string }>(table.products);

/** A row for each device, by its id. */
export const amdProducts: readonly AmdProduct[] = products
  .flatMap(({ ids, ...row }) => ids.split(" ").map((id) => ({ id: `1002:${id}`, ...row })))
  .sort((a, b) => (a.id < b.id ? -1 : 1));

/** The name of a product; null where boards with different names share its id. */
export function onlyName(product: AmdProduct | null): string | null {
  const [name = null, ...others] = product?.names ?? [];
  return others.length === 0 ? name : null;
}

/** null for a device that is not in the table. */
export function findAmdProduct(pci: string): AmdProduct | null {
  return amdProducts.find((row) => row.id === pci) ?? null;
}
