/** `imgmatch launch TARGET`: the answer of resolve, in the words of what runs containers. */

import { exitCodes, usageError } from "../../errors.ts";
import type { HostFacts } from "../../host/facts.ts";
import { nodeHostIo } from "../../host/node-io.ts";
import type { GpuChoice } from "../../node/launch/choose-gpus.ts";
import { chooseLaunch } from "../../node/launch/choose-launch.ts";
import { formatLaunch } from "../../node/launch/format-launch.ts";
import { findHolders, type GpuHolder, gpusBusy } from "../../node/launch/gpus-busy.ts";
import { launchTarget } from "../../node/launch/launch-targets.ts";
import { runImage } from "../../node/launch/run-image.ts";
import { isLocal, type LaunchTarget } from "../../node/launch/target.ts";
import { unsupported } from "../../node/launch/unsupported.ts";
import { unaskedLines } from "../../resolve/answer-lines.ts";
import type { CommandContext } from "../command-context.ts";
import { formatFor, type LaunchFlags, workloadOf } from "../../node/launch/workload.ts";
import { readQuestion } from "../../node/question.ts";
import { tell } from "../print.ts";

export async function launch(flags: LaunchFlags, context: CommandContext): Promise<number> {
  const target = launchTarget(flags.target);
  const format = formatFor(target, flags);
  if (flags.fleet) {
    const { launchFleet } = await import("./fleet.ts");
    return launchFleet(target, format, flags, context);
  }
  if (flags.run) requireRunnable(target, flags);
  const { gpus, allowBusy, anywhere, ...question } = flags;
  const { lock, host, options } = await readQuestion(question, context);
  const choice = chooseLaunch(target, lock, host, { ...options, gpus, allowBusy, anywhere });
  if (!choice.ok) throw gpusBusy(choice, await holdersOf(choice, host, flags, context));
  tell(unaskedLines(choice.unasked), context);
  const request = { ...workloadOf(target, flags), ...choice.request };
  tell(
    choice.problems.map(({ code, message }) => `${code}: ${message}`),
    context,
  );
  if (flags.run && isLocal(target)) {
    const interactive = flags.task !== "service";
    context.takeSignals("child");
    return runImage(target, { ...request, interactive, tty: interactive && context.terminal.interactive });
  }
  context.out(await formatLaunch(target.launch(request, format), format, request));
  return exitCodes.ok;
}

function requireRunnable(target: LaunchTarget, { host, json, yaml }: LaunchFlags): void {
  if (!isLocal(target))
    throw unsupported(
      target.name,
      "be started from here",
      "leave --run out and hand what it prints to its own tool",
    );
  if (host !== undefined || json || yaml) {
    throw usageError(
      "--run starts the image here, and --host, --json and --yaml ask for the command alone",
      "leave --run out to see the command",
    );
  }
}

async function holdersOf(
  { taken }: Extract<GpuChoice, { readonly ok: false }>,
  { nvidia }: HostFacts,
  { host }: LaunchFlags,
  { env }: CommandContext,
): Promise<ReadonlyMap<number, readonly GpuHolder[]>> {
  // Facts from a file speak of another machine, whose processes cannot be asked.
  if (host !== undefined || nvidia === null) return new Map();
  const units = taken.map(({ unit }) => unit);
  return findHolders(nodeHostIo(env), units);
}
