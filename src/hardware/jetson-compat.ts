/** NVIDIA's forward-compatibility packages for Jetson, with the kernel drivers on which each works. */

import { parseCudaVersion } from "./driver-version.ts";
import type { CompatPackage } from "./forward-compat.ts";
import table from "./jetson-compat.json" with { type: "json" };
import { readRows } from "./read-rows.ts";

type JetsonPackage = Pick<CompatPackage, "package" | "cuda" | "branches" | "source">;

export const jetsonPackages = readRows<JetsonPackage>(table.packages);

/**
 * NVIDIA's package of a CUDA version for Jetson (`cuda-compat-12-9` of aarch64-jetson, `cuda-compat-orin-13-4`), null when there is none.
 * Its libcuda calls drivers of the Jetson, and runs nowhere else. `branches` are the kernel drivers of the supported JetPack releases, as far as
 * the numbers are known: that of JetPack 7.2 is not.
 */
export function findJetsonPackage(version: string): JetsonPackage | null {
  const parts = parseCudaVersion(version)?.parts;
  return jetsonPackages.find(({ cuda }) => cuda === `${parts?.[0]}.${parts?.[1]}`) ?? null;
}
