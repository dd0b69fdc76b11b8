/** `imgmatch hardware`: print the hardware tables behind every check, with their sources. */

import { type ExitCode, exitCodes } from "../problem-codes.ts";
import type { HardwareOptions } from "../hardware/hardware.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { withJson } from "./flags/options.ts";
import { hardwareLines } from "./hardware-lines.ts";
import { type JsonFlag, print } from "./print.ts";

const helpText = `
A name is a toolkit, a ROCm release, a driver, a GPU, a compute capability, a
target, a march, a CPU feature, a machine type, a cloud, or a part of such a name.`;

export const hardware: Define = (command, run) =>
  withJson(command)
    .description("Print what imgmatch knows about CUDA, ROCm, GPUs, CPUs and machine types, with sources")
    .argument("[kind]", "cuda, rocm, gpu, cpu or machine")
    .argument("[name]", "one of them: 12.8, H100, sm_90a, gfx942, broadwell …")
    .addHelpText("after", helpText)
    .action(run(hardwareCommand));

async function hardwareCommand(
  flags: HardwareOptions & JsonFlag,
  context: CommandContext,
): Promise<ExitCode> {
  const { hardware: answerOf } = await import("../hardware/hardware.ts");
  const report = await answerOf(flags);
  print(context, flags, report, (style) => hardwareLines(report, style, context.terminal.columns));
  return exitCodes.ok;
}
