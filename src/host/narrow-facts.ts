/** Narrows facts to the GPUs that `--gpus` names, as the probe does on the machine itself. */

import type { HostFacts, VendorFacts } from "../facts/facts.ts";
import { sideOfFacts } from "../facts/sides.ts";
import { type GpuVendor, gpuVendors } from "../hardware/gpu-vendors.ts";
import { narrowAmdGpus } from "./amd/amd-visible-devices.ts";
import { narrowGpus } from "./nvidia/visible-devices.ts";

type Gpus<Vendor extends GpuVendor> = VendorFacts[Vendor]["gpus"];

const narrow: { readonly [V in GpuVendor]: (gpus: Gpus<V>, list: string) => Gpus<V> } = {
  nvidia: narrowGpus,
  amd: narrowAmdGpus,
};

/** Of the first vendor that has some. Throws `SELECTION_INVALID` for an entry that names no GPU. */
export function narrowFacts(facts: HostFacts, list: string): HostFacts {
  const holds = (vendor: GpuVendor) => (sideOfFacts(vendor, facts)?.gpus.length ?? 0) > 0;
  return narrowSide(facts, gpuVendors.find(holds) ?? gpuVendors[0], list);
}

function narrowSide<V extends GpuVendor>(facts: HostFacts, vendor: V, list: string): HostFacts {
  const side = sideOfFacts(vendor, facts);
  const gpus = narrow[vendor](side?.gpus ?? [], list);
  return side == null ? facts : { ...facts, [vendor]: { ...side, gpus } };
}
