/** A vendor's side of a machine: its facts, and the way of containers to its GPUs. */

import type { GpuVendor } from "../hardware/gpu-vendors.ts";
import type { FactsPart, HostFacts, VendorFacts } from "../facts/facts.ts";
import type { PciGpu } from "./pci.ts";

export interface SideReading<Vendor extends GpuVendor = GpuVendor>
  extends FactsPart<VendorFacts[Vendor] | null | undefined> {
  readonly runtime: Partial<HostFacts["runtime"]>;
  /** GPUs of this vendor are there, hidden ones too. */
  readonly holds: boolean;
  /** The same with the GPUs that `--gpus` names. Throws `SELECTION_INVALID`. */
  select(gpus: string): SideReading<Vendor>;
}

export interface SideContext {
  /** The vendor's GPUs on the PCI bus. */
  readonly pci: readonly PciGpu[];
  /** A GPU or driver of a vendor before this one is there. */
  readonly others: boolean;
  /** The facts are those of a node, and not of this process. */
  readonly ofNode: boolean;
  /** The links of GPUs are asked for. */
  readonly pairs: boolean;
}
