/** Answers with the hardware tables, and refuses unknown names. */

import { type ImgmatchError, usageError } from "../../errors.ts";
import { didYouMean, suggest } from "../../io/suggest.ts";
import { amdDrivers } from "../../hardware/amd-drivers.ts";
import { formatComputeCapability } from "../../hardware/compute-capability.ts";
import { nearMarch } from "../../hardware/compiler-names.ts";
import { marchNames } from "../../hardware/cpu-marches.ts";
import { cudaToolkits } from "../../hardware/cuda-toolkits.ts";
import {
  describeHardware,
  hardwareKinds,
  type HardwareKind,
  type HardwareReport,
} from "./describe-hardware.ts";
import { gpuArchitectures } from "../../hardware/gpu-architectures.ts";
import { tablesDate } from "../../hardware/tables-date.ts";
import { machineTypes } from "../../hardware/machine-types.ts";

export interface HardwareOptions {
  /** `cuda`, `rocm`, `gpu`, `cpu` or `machine`. Default: all. */
  readonly kind?: string;
  /** One of them: `12.8`, `H100`, `sm_90a`, `broadwell`. */
  readonly name?: string;
}

/**
 * Answers with the tables and their sources. Throws `USAGE` for an unknown kind or name.
 *
 * @example
 * const { tables } = await hardware({ kind: "gpu", name: "H100" });
 */
export type HardwareFunction = (options?: HardwareOptions) => Promise<HardwareReport>;

export async function hardware({ kind, name }: HardwareOptions = {}): Promise<HardwareReport> {
  if (kind !== undefined && !isKind(kind)) {
    throw usageError(
      `${JSON.stringify(kind)} is no kind of hardware`,
      `${didYouMean(suggest(kind, hardwareKinds))}write one of ${hardwareKinds.join(", ")}`,
    );
  }
  const report = await describeHardware(kind, name);
  if (report === null) throw await unknownName(kind ?? "cpu", name ?? "");
  return report;
}

function isKind(text: string): text is HardwareKind {
  return (hardwareKinds as readonly string[]).includes(text);
}

async function unknownName(kind: HardwareKind, name: string): Promise<ImgmatchError> {
  const near = kind === "cpu" ? nearMarch(name) : suggest(name, await knownNames[kind]());
  return usageError(
    `nothing is known about ${kind} ${JSON.stringify(name)}`,
    `${didYouMean(near)}imgmatch hardware ${kind} lists what is known on ${tablesDate}`,
  );
}

/** Names to suggest. Products are too many, and too similar. */
const knownNames = {
  cpu: marchNames,
  cuda: () => cudaToolkits.flatMap(({ release, minor }) => [minor, release]),
  rocm: () => amdDrivers.map(({ driver }) => driver),
  gpu: () =>
    gpuArchitectures.flatMap(({ compute }) => {
      const text = formatComputeCapability(compute);
      return [text, `sm_${text.replace(".", "")}`];
    }),
  machine: async () => (await machineTypes()).map(({ name }) => name),
} satisfies Record<HardwareKind, () => readonly string[] | Promise<readonly string[]>>;
