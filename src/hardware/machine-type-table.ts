/**
 * Machine types of three clouds, and NVIDIA's own systems, with their CPU and GPUs as captured on them or as a document tells. null if no
 * source tells: the features of a CPU do not follow from its name, because hypervisors and firmware hide some.
 */

import table from "./machine-types.json" with { type: "json" };
import { readRows, type SourcedRow } from "./read-rows.ts";

/** A CPU as a kernel printed it. */
export interface MachineCpuRow extends SourcedRow {
  /** The cloud and the model; ends in `-metal` without a hypervisor. */
  readonly key: string;
  /** A machine type on which it was read. */
  readonly on: string;
  readonly vendor: string;
  readonly model: string;
  /** x86: `cpu family` and `model` of /proc/cpuinfo. Arm: `CPU implementer` and `CPU part`. */
  readonly identity: readonly [string, string];
  /** The features of all machines with this CPU. */
  readonly features: string;
  /** The features of some of them: kernels or sizes differ. */
  readonly sometimes: string;
}

/** What every CPU has that a source calls so, for types on which nobody captured the CPU. */
export interface MachineBaseline extends SourcedRow {
  /** How the name of the CPU begins. A family comes before its vendor. */
  readonly cpu: string;
  /** Of `cpuLevel`: firmware and hypervisors may hide single features that no level has. */
  readonly level: string;
}

export interface MachineTypeRow extends SourcedRow {
  readonly catalog: "aws" | "azure" | "gcp" | "nvidia";
  readonly name: string;
  readonly platform: "linux/amd64" | "linux/arm64";
  /** The name of the CPU; null if the source does not tell it, or if the capture has it. */
  readonly cpu: string | null;
  /** A key of {@link machineCpuRows}; null if nobody captured such a CPU under such a hypervisor. */
  readonly features: string | null;
  /** `features` come from another type of the same cloud, or without a hypervisor, with a CPU of the same kind. */
  readonly alike?: true;
  /** The name that the driver prints. */
  readonly gpu: string;
  /** Compute capability; absent for GPUs of AMD. */
  readonly compute?: string;
  /** `gfx942`; absent for GPUs of NVIDIA. */
  readonly target?: string;
  /** null if the source has only the name. */
  readonly pci: string | null;
  readonly gpus: number;
}

export const machineBaselines = readRows<MachineBaseline>(table.baselines);

export const machineCpuRows = readRows<MachineCpuRow>(table.cpus);

/** Types that differ in their size alone, with the number of GPUs of each. */
const families = readRows<
  Omit<MachineTypeRow, "name" | "gpus"> & { readonly types: Readonly<Record<string, number>> }
>(table.families);

/** A row for each type, by catalog and name. */
export const machineTypeRows: readonly MachineTypeRow[] = families
  .flatMap(({ types, ...row }) => Object.entries(types).map(([name, gpus]) => ({ ...row, name, gpus })))
  .sort((a, b) => (`${a.catalog}/${a.name}` < `${b.catalog}/${b.name}` ? -1 : 1));
