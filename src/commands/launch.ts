/** `imgmatch launch TARGET`: the answer of resolve, in the words of what runs containers. */

import { type ExitCode, exitCodes, ImgmatchError } from "../errors.ts";
import type { HostFacts } from "../host/facts.ts";
import { nodeHostIo } from "../host/node-io.ts";
import { gpusBusy } from "../launch/busy.ts";
import { chooseGpus, type GpuChoice } from "../launch/choose-gpus.ts";
import { findHolders } from "../launch/gpu-holders.ts";
import { resolvedLabel } from "../launch/labels/vocabulary.ts";
import { type LaunchTargetName, launchTargets } from "../launch/launch-targets.ts";
import { runImage } from "../launch/run.ts";
import { isLocal, type LaunchRequest, type LaunchTarget } from "../launch/target.ts";
import { unsupported } from "../launch/unsupported.ts";
import type { Lock, Requirement } from "../lock/lock.ts";
import { neededRequirement } from "../lock/needed-requirement.ts";
import { printableReport } from "../input/printable.ts";
import { nearestFirst } from "../resolve/nearest.ts";
import {
  type Candidate,
  immutableReferenceOf,
  type Ranking,
  type ResolveOptions,
} from "../resolve/resolve.ts";
import { findUnasked } from "../resolve/unasked.ts";
import type { CommandContext } from "./context.ts";
import { gpuWish, scheduledGpus } from "./launch-gpus.ts";
import { formatFor, type LaunchFlags, workloadOf } from "./launch-options.ts";
import { printLaunch } from "./launch-output.ts";
import { noMatch, readQuestion, tellUnasked } from "./question.ts";

export type { LaunchFlags } from "./launch-options.ts";

export async function launch(flags: LaunchFlags, context: CommandContext): Promise<ExitCode> {
  const target = targetOf(flags.target);
  const format = formatFor(target, flags);
  if (flags.fleet) {
    const { launchFleet } = await import("./launch-fleet.ts");
    return launchFleet(target, format, flags, context);
  }
  if (flags.run) requireRunnable(target, flags);
  const { gpus: _, ...question } = flags;
  const { lock, host, options } = await readQuestion(question, context);
  const choice =
    target.gpus === "scheduler"
      ? scheduledGpus(lock, host, flags.gpus, target.name, options)
      : chooseGpus(lock, host, gpuWish(host, flags.gpus), {
          ...options,
          allowBusy: flags.allowBusy ?? false,
        });
  if (!choice.ok) throw await busy(choice, host, flags, context);
  const winner = winnerOf(choice, flags, lock, options);
  tellUnasked(
    findUnasked(
      lock,
      choice.host,
      { ...choice.ranking, ranked: fromWinner(choice.ranking, winner) },
      options,
    ),
    context,
  );
  const request: LaunchRequest = {
    ...workloadOf(target, flags),
    reference: immutableReferenceOf(lock, winner.image),
    requires: neededRequirement(winner.image),
    host: choice.host,
    units: winner.image.requires.cuda === null ? [] : choice.units,
    node: flags.anywhere ? null : resolvedLabel(lock.name, winner.image.tag),
  };
  for (const { code, message } of choice.ranking.problems.filter((each) => !each.code.startsWith("HOST_")))
    context.err(printableReport([`${code}: ${message}`]));
  if (flags.run && isLocal(target)) {
    const terminal = process.stdin.isTTY === true && process.stdout.isTTY === true;
    const foreground = flags.task !== "service";
    context.takeSignals("child");
    const code = await runImage(target, { ...request, interactive: foreground, tty: foreground && terminal });
    // The container's own exit code is the answer, whatever it is.
    return code as ExitCode;
  }
  await printLaunch(target.launch(request, format), format, request, context);
  return exitCodes.ok;
}

function targetOf(name: string): LaunchTarget {
  if (Object.hasOwn(launchTargets, name)) return launchTargets[name as LaunchTargetName];
  throw new ImgmatchError({
    code: "USAGE",
    message: `there is no launch target ${JSON.stringify(name)}`,
    fix: `use one of: ${Object.keys(launchTargets).join(", ")}`,
  });
}

function requireRunnable(target: LaunchTarget, { host, json, yaml }: LaunchFlags): void {
  if (!isLocal(target))
    throw unsupported(
      target.name,
      "be started from here",
      "leave --run out and hand what it prints to its own tool",
    );
  if (host !== undefined || json || yaml) {
    throw new ImgmatchError({
      code: "USAGE",
      message: "--run starts the image here, and --host, --json and --yaml ask for the command alone",
      fix: "leave --run out to see the command",
    });
  }
}

/** Who asks for GPUs by number or name is not served by an image that has no use for them. */
function winnerOf(
  { ranking, host }: Extract<GpuChoice, { readonly ok: true }>,
  { gpus }: LaunchFlags,
  lock: Lock,
  options: ResolveOptions,
): Candidate {
  const wantsGpus = gpus !== undefined && gpus !== "all" && gpus !== "none";
  const uses = (requires: Requirement | undefined) => !wantsGpus || requires?.cuda !== null;
  const winner = ranking.ranked.find(({ image }) => uses(image.requires));
  if (winner !== undefined) return winner;
  const rejected = ranking.rejected.filter(({ cell }) => uses(lock.images[cell]?.requires));
  throw noMatch(nearestFirst(lock, rejected, host, options));
}

/** Who asked for GPUs has passed over the images before the winner. */
function fromWinner({ ranked }: Ranking, winner: Candidate): readonly Candidate[] {
  return ranked.slice(ranked.indexOf(winner));
}

async function busy(
  choice: Extract<GpuChoice, { readonly ok: false }>,
  host: HostFacts,
  flags: LaunchFlags,
  context: CommandContext,
): Promise<ImgmatchError> {
  // Facts from a file speak of another machine, whose processes cannot be asked.
  const here = flags.host === undefined && host.nvidia !== null;
  const units = choice.taken.map(({ unit }) => unit);
  const holders = here ? await findHolders(nodeHostIo(context.env), units) : new Map();
  return gpusBusy(choice, holders);
}
