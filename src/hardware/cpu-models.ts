/** Finds the marches that a CPU may be, by vendor, family and model. */

import { findMarch, type March, marchRows } from "./cpu-marches.ts";

/**
 * The marches that share a vendor, family and model (Skylake, Cascade Lake and Cooper Lake servers are all 6, 85): what all of
 * them have, the CPU was made with. Empty for a CPU that the tables do not know. Virtual machines may hide some of it.
 *
 * @param vendor `vendor_id` of /proc/cpuinfo
 * @param family decimal, the extended family included
 * @param model decimal, the extended model included
 */
export function marchesOfModel(vendor: string, family: number, model: number): readonly March[] {
  const names =
    vendor === "AuthenticAMD"
      ? (amdFamilies[family] ?? [])
      : marchRows.amd64
          .filter((row) => row.vendor === vendor && row.family === family && row.models?.includes(model))
          .map(({ name }) => name);
  return names.flatMap((name) => findMarch(name) ?? []);
}

/**
 * AMD counts models in wide and open ranges, so a family stands for its oldest march. The newer marches of a family extend the oldest.
 * Source: GCC, gcc/common/config/i386/cpuinfo.h, get_amd_cpu.
 */
export const amdFamilies: Readonly<Record<number, readonly string[]>> = {
  23: ["znver1"],
  25: ["znver3"],
  26: ["znver5"],
};
