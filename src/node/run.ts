/** `imgmatch run`: runs this host's image here. */

import { usageError } from "../errors.ts";
import { otherHost } from "../host/probe.ts";
import { isPodmanAlone } from "../oci/engine/engine-endpoint.ts";
import { inWorld, note, type Watching, type World } from "../io/world.ts";
import type { LocalEngine } from "../lock/lock.ts";
import { unpushedEngines } from "../lock/adopted-lock.ts";
import { unaskedLines } from "../resolve/answer-lines.ts";
import { chooseLaunch, hostReader, joinedLines } from "./launch/choose-launch.ts";
import type { CommandLaunch } from "./launch/format-launch.ts";
import { accessTo } from "./launch/gpu-needs.ts";
import { refusedGpus } from "./launch/gpus-busy.ts";
import { runImage, type StartEvent } from "./launch/run-image.ts";
import type { LaunchCommand, LaunchRequest, LocalTarget } from "./launch/target.ts";
import { docker, podman } from "./launch/targets/docker-run.ts";
import {
  heldBy,
  type AgeChoice,
  type QuestionOptions,
  readQuestion,
  type NodePorts,
  type NodeWorld,
} from "./question.ts";

export interface RunOptions
  extends Omit<QuestionOptions, "local" | "explain" | "gpus">,
    AgeChoice,
    Watching<StartEvent> {
  /** Default: `docker`, and `podman` where it is the only one. */
  readonly engine?: LocalEngine;
  /** Further words for the engine's `run`: `["-v", "/data:/data"]`. */
  readonly option?: readonly string[];
  /** Arguments for the container's program. */
  readonly args?: readonly string[];
  /** Give the container a terminal. */
  readonly tty?: boolean;
  /** How many GPUs, which ones, `all` or `none`. Default: all. */
  readonly gpus?: string;
  /** Hand out busy GPUs too. */
  readonly allowBusy?: boolean;
  /** Answer with the command, and start nothing. */
  readonly dryRun?: boolean;
}

export interface RunCommand {
  readonly schemaVersion: 1;
  readonly joined?: CommandLaunch["joined"];
  readonly argv: LaunchCommand["argv"];
}

const targets = { docker, podman } as const satisfies Record<LocalEngine, LocalTarget>;

/**
 * Resolves, then runs the image with this process's standard input and output. Answers with the container's exit code; `dryRun` with the command.
 *
 * Throws as `resolve`, `NO_MATCH`, `HOST_BROKEN`, `GPU_BUSY`, `GPU_BUSY_UNKNOWN`, `LAUNCH_FAILED` if the engine's program does not start, `INTERRUPTED`.
 *
 * @example
 * process.exitCode = await run({ args: ["python", "train.py"] });
 */
export interface RunFunction {
  (options: RunOptions & { readonly dryRun: true }, world?: Partial<World>): Promise<RunCommand>;
  (options?: RunOptions & { readonly dryRun?: false }, world?: Partial<World>): Promise<number>;
}

export function runWith(ports: NodePorts): RunFunction {
  const face = (options: RunOptions = {}, given?: Partial<World>): Promise<number | RunCommand> =>
    inWorld(options, given, (world) => runIn(options, world), ports);
  return face as RunFunction;
}

async function runIn(options: RunOptions, world: NodeWorld): Promise<number | RunCommand> {
  const { dryRun = false, args = [], option = [], tty = false } = options;
  const { gpus, allowBusy, ...questionOptions } = options;
  const readHost = hostReader(docker, gpus);
  const { lock, host, options: wanted } = await readQuestion(questionOptions, world, readHost);
  const other = otherHost(options);
  const isAlone = options.engine === undefined && other === null && (await isPodmanAlone(world.env));
  if (isAlone) note(world, ["there is no Docker here: Podman runs it (--engine podman)"]);
  const engine = options.engine ?? (isAlone ? "podman" : "docker");
  // The engine of this machine is no other machine's.
  const asksEngine = other === null && unpushedEngines(lock).has(engine);
  const local = asksEngine ? await heldBy([engine], world) : {};
  const target = targets[engine];
  const choice = chooseLaunch(target, lock, host, { ...wanted, ...local, gpus, allowBusy });
  if (!choice.ok) throw await refusedGpus(choice, other === null, world.env);
  const { joined } = choice;
  note(world, [...unaskedLines(choice.unasked), ...joinedLines(choice)]);
  if (other !== null && !dryRun) {
    throw usageError(
      `run starts the image here, and ${other} names another machine`,
      `leave ${other} out, or add --dry-run to see the command for that machine`,
    );
  }
  const request: LaunchRequest = {
    ...choice.request,
    ...(other === null ? accessTo(choice.request.units ?? []) : {}),
    args,
    interactive: true,
    options: option,
  };
  if (dryRun) {
    const { argv } = target.command(request);
    return { schemaVersion: 1, ...(joined !== undefined && { joined }), argv };
  }
  options.onEvent?.({ type: "start" });
  return runImage(target, { ...request, tty }, world.signal);
}
