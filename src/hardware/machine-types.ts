/** Machine types of AWS, Azure and Google Cloud, and NVIDIA's own systems. */

import type { MachineBaseline, MachineCpuRow, MachineTypeRow } from "./machine-type-table.ts";

/** `nvidia`: DGX and HGX systems, and one tray or board of those with a Grace CPU. */
export const machineCatalogs = [
  "aws",
  "azure",
  "gcp",
  "nvidia",
] as const satisfies readonly MachineTypeRow["catalog"][];
export type MachineCatalog = (typeof machineCatalogs)[number];

export interface MachineType extends Omit<MachineTypeRow, "features"> {
  /** The captured CPU; null if nobody captured such a CPU there. */
  readonly capture: MachineCpuRow | null;
  /** What every CPU of the named vendor and family has; null if the CPU is not named, or no source tells. */
  readonly baseline: MachineBaseline | null;
}

/** All machine types, sorted by catalog and name. The first call loads the table. */
export async function machineTypes(): Promise<readonly MachineType[]> {
  const { machineBaselines, machineCpuRows, machineTypeRows } = await import("./machine-type-table.ts");
  const captures = new Map(machineCpuRows.map((row) => [row.key, row]));
  return machineTypeRows.map(({ features, ...row }) => ({
    ...row,
    capture: features === null ? null : (captures.get(features) ?? null),
    baseline: machineBaselines.find(({ cpu }) => row.cpu?.startsWith(cpu)) ?? null,
  }));
}
