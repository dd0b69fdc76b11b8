/** NVIDIA's PCI ids by compute capability, class and brand, in a third of the bytes: `1b=808184-87` stands for 1b80, 1b81 and 1b84 to 1b87. */

import { findGpuByPci } from "../../hardware/gpu-products.ts";
import { remember } from "../../io/collections.ts";
import { brandOf } from "../../resolve/host-view.ts";
import type { FleetNeeds } from "./image-rows.ts";
import { gpuClasses } from "./compile-order.ts";

/** `86/2/geforce 22=0304 24=84`: compute capability, then class and brand where the fleet needs them, then ids. */
export async function pciRowsOf({ classes, brands }: FleetNeeds): Promise<readonly string[]> {
  const { pciRows } = await import("../../hardware/gpu-pci-table.ts");
  const groups = new Map<string, Map<string, number[]>>();
  for (const { id } of pciRows) {
    const product = await findGpuByPci(id);
    if (product === null) continue;
    const key = [
      product.compute.replace(".", ""),
      ...(classes ? [gpuClasses.indexOf(product.class)] : []),
      ...(brands ? [brandOf(product, null) ?? ""] : []),
    ].join("/");
    const [, device = ""] = id.split(":");
    const ids = remember(groups, key, () => new Map<string, number[]>());
    remember(ids, device.slice(0, 2), () => []).push(Number.parseInt(device.slice(2), 16));
  }
  return [...groups].map(
    ([key, ids]) => `${key} ${[...ids].map(([start, ends]) => `${start}=${packed(ends)}`).join(" ")}`,
  );
}

/** Two digits each; three and more in a row as their first and last. */
function packed(numbers: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const number of [...numbers].sort((a, b) => a - b)) {
    const run = runs.at(-1);
    if (run !== undefined && run[1] === number - 1) run[1] = number;
    else runs.push([number, number]);
  }
  return runs
    .map(([first, last]) =>
      last - first > 1 ? `${hex(first)}-${hex(last)}` : [...new Set([first, last])].map(hex).join(""),
    )
    .join("");
}

function hex(number: number): string {
  return number.toString(16).padStart(2, "0");
}
