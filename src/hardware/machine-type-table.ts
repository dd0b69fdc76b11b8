/**
 * Machine types of three clouds, with GPUs of NVIDIA or AMD, and NVIDIA's own systems: which CPU and GPUs they have, as captured on them or
 * as a document says. A fact that no source says is null: the features of a CPU that is only named are those of no compiler's table, as
 * hypervisors and firmware hide some.
 */

import table from "./machine-types.json" with { type: "json" };
import { readRows } from "./read-rows.ts";
import type { SourceKey } from "./sources.ts";

/** A kernel's output about a CPU, as Linux names it. */
export interface MachineCpuRow {
  /** The cloud in which it was captured, and its model; `-metal` if no hypervisor was between. */
  readonly key: string;
  /** One of the machine types on which it was read. */
  readonly on: string;
  readonly vendor: string;
  readonly model: string;
  /** x86: `cpu family` and `model` of /proc/cpuinfo. Arm: `CPU implementer` and `CPU part`. */
  readonly identity: readonly [string, string];
  /** On every machine with this CPU there. */
  readonly features: string;
  /** On some of them alone: their kernels or sizes differ. */
  readonly sometimes: string;
  readonly source: readonly SourceKey[];
}

export interface MachineTypeRow {
  readonly catalog: "aws" | "azure" | "gcp" | "nvidia";
  readonly name: string;
  readonly platform: "linux/amd64" | "linux/arm64";
  /** The source's name of the CPU; null if it does not say, and if `features` has its name. */
  readonly cpu: string | null;
  /** A key of {@link machineCpuRows}; null where nobody has captured such a CPU under such a hypervisor. */
  readonly features: string | null;
  /** `features` were not read on this type, but on another of the same cloud, or without a hypervisor, with a CPU of the same kind. */
  readonly alike?: true;
  /** As the driver prints it. */
  readonly gpu: string;
  /** Compute capability; absent for GPUs of AMD. */
  readonly compute?: string;
  /** `gfx942`; absent for GPUs of NVIDIA. */
  readonly target?: string;
  /** null where the source has only the name. */
  readonly pci: string | null;
  readonly gpus: number;
  readonly source: readonly SourceKey[];
}

export const machineCpuRows = readRows<MachineCpuRow>(table.cpus);

/** Types that differ in their size alone, with the number of GPUs of each. */
const families = readRows<
  Omit<MachineTypeRow, "name" | "gpus"> & { readonly types: Readonly<Record<string, number>> }
>(table.families);

/** A row for each type, by catalog and name. */
export const machineTypeRows: readonly MachineTypeRow[] = families
  .flatMap(({ types, ...row }) => Object.entries(types).map(([name, gpus]) => ({ ...row, name, gpus })))
  .sort((a, b) => (`${a.catalog}/${a.name}` < `${b.catalog}/${b.name}` ? -1 : 1));
