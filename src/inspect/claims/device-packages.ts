/** The packages with GPU code for single targets that a package of AMD's ROCm wants and does not find. */

import { basename, dirname } from "node:path";
import type { PackageRecords } from "../packages/unchanged-files.ts";
import type { ClaimFile, DevicePackage } from "./claim-files.ts";

/** PyPA specifications, "Names and normalization". */
export const normalName = (name: string) => name.toLowerCase().replace(/[-_.]+/g, "-");

/** By the normal name of the package that wants them. */
export function lackingDevices(
  claims: ReadonlyMap<string, ClaimFile>,
  records: readonly PackageRecords[],
): ReadonlyMap<string, readonly DevicePackage[]> {
  const there = new Set(records.flatMap(({ installed }) => (installed ? [normalName(installed.name)] : [])));
  const found = new Map<string, readonly DevicePackage[]>();
  for (const [path, claim] of claims) {
    if (claim.kind !== "devices") continue;
    const lacking = claim.packages.filter(({ name }) => !there.has(normalName(name)));
    const [of = ""] = basename(dirname(path)).split("-");
    if (lacking.length > 0) found.set(normalName(of), lacking);
  }
  return found;
}
