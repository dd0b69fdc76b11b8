/** A vendor's side of a machine: its facts, and the way of containers to its GPUs. */

import type { GpuVendor } from "../lock/requirement.ts";
import type { FactsPart, HostFacts, VendorFacts } from "./facts.ts";
import type { PciGpu } from "./pci.ts";

export interface SideReading<Vendor extends GpuVendor = GpuVendor>
  extends FactsPart<VendorFacts[Vendor] | null | undefined> {
  readonly runtime: Partial<HostFacts["runtime"]>;
  /** GPUs of this vendor are there, hidden ones too. */
  readonly holds: boolean;
  /** The same with the GPUs that `--gpus` names. Throws `SELECTION_INVALID`. */
  select(gpus: string): SideReading<Vendor>;
}

export interface SideQuestion {
  /** The vendor's GPUs on the PCI bus. */
  readonly pci: readonly PciGpu[];
  /** A GPU or driver of a vendor before this one is there. */
  readonly others: boolean;
  /** The facts are those of a node, and not of this process. */
  readonly ofNode: boolean;
}

/** A vendor's part of facts: null without device and driver, undefined when unknown. */
export function sideOfFacts<Vendor extends GpuVendor>(vendor: Vendor, facts: Pick<HostFacts, GpuVendor>) {
  return facts[vendor] as VendorFacts[Vendor] | null | undefined;
}

/** A line about facts for people: its label, and its text. */
export type FactsRow = readonly [label: string, text: string];

export const unknown = "unknown";
