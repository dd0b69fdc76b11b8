/** `imgmatch hardware [cuda|gpu|cpu|machine] [name]`: what the tables say, which is what every check goes by. */

import { assertNever, type ExitCode, exitCodes, type ImgmatchError, usageError } from "../errors.ts";
import { formatComputeCapability } from "../hardware/compute-capability.ts";
import { marchNames } from "../hardware/cpu-marches.ts";
import { cudaToolkits } from "../hardware/cuda-toolkits.ts";
import { describeHardware, type HardwareKind, hardwareKinds } from "../hardware/describe-hardware.ts";
import { gpuArchitectures } from "../hardware/gpu-architectures.ts";
import { machineTypes } from "../hardware/machine-types.ts";
import { didYouMean, suggest, suggestMarch } from "../fleet/matrix/suggest.ts";
import { reportHardware } from "./report/hardware.ts";
import type { CommandContext } from "./command-context.ts";
import { print } from "./print.ts";

export interface HardwareFlags {
  readonly kind?: string;
  /** One of them. */
  readonly name?: string;
  readonly json?: boolean;
}

export async function hardware(flags: HardwareFlags, context: CommandContext): Promise<ExitCode> {
  const { kind, name } = flags;
  if (kind !== undefined && !isKind(kind)) {
    throw usageError(
      `${JSON.stringify(kind)} is no kind of hardware`,
      `${didYouMean(suggest(kind, hardwareKinds))}write one of ${hardwareKinds.join(", ")}`,
    );
  }
  const report = await describeHardware(kind, name);
  if (report === null) throw unknownName(kind ?? "cpu", name ?? "", await machineNames(kind));
  print(context, flags, report, (style) => reportHardware(report, style, context.terminal.columns));
  return exitCodes.ok;
}

function isKind(text: string): text is HardwareKind {
  return (hardwareKinds as readonly string[]).includes(text);
}

async function machineNames(kind: HardwareKind | undefined): Promise<readonly string[]> {
  return kind === "machine" ? (await machineTypes()).map(({ name }) => name) : [];
}

function unknownName(kind: HardwareKind, name: string, machines: readonly string[]): ImgmatchError {
  const known = kind === "machine" ? machines : knownNames(kind);
  const near = kind === "cpu" ? suggestMarch(name, known) : suggest(name, known);
  return usageError(
    `nothing is known about ${kind} ${JSON.stringify(name)}`,
    `${didYouMean(near)}imgmatch hardware ${kind} lists what is known`,
  );
}

/** Products are too many, and too much alike, to guess among. */
function knownNames(kind: Exclude<HardwareKind, "machine">): readonly string[] {
  switch (kind) {
    case "cpu":
      return marchNames();
    case "cuda":
      return cudaToolkits.flatMap(({ release, minor }) => [minor, release]);
    case "gpu":
      return gpuArchitectures.flatMap(({ compute }) => {
        const text = formatComputeCapability(compute);
        return [text, `sm_${text.replace(".", "")}`];
      });
    default:
      return assertNever(kind);
  }
}
