/** What the hardware tables know, or what they know about one name. */

import { assertNever } from "../errors.ts";
import { describeCpu } from "./describe-cpu.ts";
import { describeCuda } from "./describe-cuda.ts";
import { describeGpu } from "./describe-gpu.ts";
import { describeMachine } from "./describe-machine.ts";
import { type HardwareReport, hardwareReport, type ReportTable } from "./hardware-report.ts";

export const hardwareKinds = ["cuda", "gpu", "cpu", "machine"] as const;
export type HardwareKind = (typeof hardwareKinds)[number];

/**
 * The tables of one kind, or of all, with their sources; with a name, only what is known about it. null for a name that the
 * tables do not have.
 *
 * @param name `cuda`: a toolkit (`12.8`, `12.8.1`) or a driver (`570.124.06`). `gpu`: a compute capability (`9.0`), a target
 *   (`sm_90a`), a PCI id (`10de:2330`) or a product, also a part of its name (`H100`). `cpu`: a march (`broadwell`) or a
 *   feature (`avx512_vnni`). `machine`: a machine type, also a part of its name (`p5.`), or a catalog (`aws`).
 * @example
 * (await describeHardware("gpu", "H100"))?.tables[0]?.rows[0]; // { name: "NVIDIA H100", compute: "9.0", … }
 */
export async function describeHardware(kind?: HardwareKind, name?: string): Promise<HardwareReport | null> {
  const kinds = kind === undefined ? hardwareKinds : [kind];
  const tables = (await Promise.all(kinds.map((each) => describe(each, name)))).flat();
  return tables.length === 0 ? null : hardwareReport(tables);
}

function describe(kind: HardwareKind, name: string | undefined): Promise<readonly ReportTable[]> {
  switch (kind) {
    case "cuda":
      return Promise.resolve(describeCuda(name));
    case "gpu":
      return describeGpu(name);
    case "cpu":
      return Promise.resolve(describeCpu(name));
    case "machine":
      return describeMachine(name);
    default:
      return assertNever(kind);
  }
}
