/** The meaning of PCI device ids, as rows of a script. */

import { amdArchitectures } from "../../hardware/amd-architectures.ts";
import { gpuClasses } from "../../hardware/gpu-class.ts";
import { findGpuByPci } from "../../hardware/gpu-products.ts";
import { groupBy, remember } from "../../io/collections.ts";
import { brandOf } from "../../resolve/nvidia-view.ts";
import type { FleetNeeds } from "./image-rows.ts";

/**
 * The device ids of NVIDIA. `86/2/geforce 22=0304 24=84`: compute capability, class and brand where the fleet needs them, then ids. `84-87`
 * stands for 84 to 87.
 */
export function pciRowsOf({ classes, brands }: FleetNeeds): Promise<readonly string[]> {
  return remember(pciRows, `${classes} ${brands}`, () => rowsBy(classes, brands));
}

const pciRows = new Map<string, Promise<readonly string[]>>();

async function rowsBy(classes: boolean, brands: boolean): Promise<readonly string[]> {
  const { pciRows: allRows } = await import("../../hardware/gpu-pci-table.ts");
  const groups = new Map<string, Map<string, number[]>>();
  for (const { id } of allRows()) {
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

/** Two digits for a number, and a hyphen for a run of three or more. */
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

/**
 * The device ids of AMD. `942 0 1 74a1,74a2`: a target, whether its GPU is a processor's, whether it may have sramecc, and device ids. The
 * row that holds for the target alone comes first.
 */
export async function amdTargetRows(): Promise<readonly string[]> {
  const { amdProducts } = await import("../../hardware/amd-products.ts");
  const bit = (value: boolean | null): string => (value === null ? "-" : value ? "1" : "0");
  return amdArchitectures.flatMap(({ name, integrated, sramecc }) => {
    const products = amdProducts.filter(({ target }) => target === name);
    const groups = groupBy(products, (product) => bit(product.integrated));
    return [...new Set([bit(integrated), ...groups.keys()])].map((each) => {
      const ids = (groups.get(each) ?? []).map(({ id }) => id.split(":")[1]);
      return `${name.slice("gfx".length)} ${each} ${Number(sramecc !== false)} ${ids.join(",") || "-"}`;
    });
  });
}
