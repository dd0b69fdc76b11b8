/** A vendor's side of host facts, for code that asks about any vendor. */

import type { GpuVendor } from "../hardware/gpu-vendors.ts";
import type { HostFacts, VendorFacts } from "./facts.ts";

/** A vendor's part of facts: null without device and driver, undefined when unknown. */
export function sideOfFacts<Vendor extends GpuVendor>(vendor: Vendor, facts: Pick<HostFacts, GpuVendor>) {
  return facts[vendor] as VendorFacts[Vendor] | null | undefined;
}
