/** NVIDIA's PCI ids by compute capability, class and brand, in half the bytes: `1b=8081` stands for 1b80 and 1b81. */

import { findGpuByPci } from "../../hardware/gpu-products.ts";
import { brandOf } from "../../resolve/gpu-brand.ts";
import { gpuClasses } from "./synthetic-host.ts";

/** `86 2 geforce 22=0304 24=84`: compute capability, place of the class, brand by name or `-`, ids. */
export async function pciRowsOf(withBrands: boolean): Promise<readonly string[]> {
  const { pciRows } = await import("../../hardware/gpu-pci-table.ts");
  const groups = new Map<string, Map<string, string>>();
  for (const { id } of pciRows) {
    const product = await findGpuByPci(id);
    if (product === null) continue;
    const compute = product.compute.replace(".", "");
    const brand = withBrands ? brandOf(product, null) : null;
    const key = `${compute} ${gpuClasses.indexOf(product.class)} ${brand ?? "-"}`;
    const ids = groups.get(key) ?? new Map<string, string>();
    groups.set(key, ids);
    const [, device = ""] = id.split(":");
    ids.set(device.slice(0, 2), (ids.get(device.slice(0, 2)) ?? "") + device.slice(2));
  }
  return [...groups].map(
    ([key, ids]) => `${key} ${[...ids].map(([start, ends]) => `${start}=${ends}`).join(" ")}`,
  );
}
