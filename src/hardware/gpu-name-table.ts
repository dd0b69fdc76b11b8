/** GPU names without a PCI id: virtual GPUs, guests of streaming servers, chips that are not on PCI. */

import table from "./gpu-names.json" with { type: "json" };
import { readRows, type SourcedRow } from "./read-rows.ts";

export interface VirtualRow extends SourcedRow {
  readonly board: string;
  readonly compute: string;
  /** The text after the board's name and a dash: an optional MIG slice, the GB of memory, the series (Q, C, B, A). */
  readonly profiles: string;
}

/** A virtual GPU has the compute capability of the physical chip. Sorted by the first board. */
const virtual = readRows<Omit<VirtualRow, "board"> & { readonly boards: readonly string[] }>(table.virtual);

/** A row for each board, sorted by name. */
export const virtualRows: readonly VirtualRow[] = virtual
  .flatMap(({ boards, ...row }) => boards.map((board) => ({ board, ...row })))
  .sort((a, b) => (a.board.toLowerCase() < b.board.toLowerCase() ? -1 : 1));

export interface NameRow extends SourcedRow {
  readonly name: string;
  /** Several if the name alone does not decide. */
  readonly compute: readonly string[];
}

/** Sorted by the first name. */
const products = readRows<Omit<NameRow, "name"> & { readonly names: readonly string[] }>(table.products);

/** A row for each name, sorted. */
export const nameRows: readonly NameRow[] = products
  .flatMap(({ names, ...row }) => names.map((name) => ({ name, ...row })))
  .sort((a, b) => (a.name.toLowerCase() < b.name.toLowerCase() ? -1 : 1));
