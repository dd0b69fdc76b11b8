/** The image of this host, run here. */

import { usageError } from "../errors.ts";
import { otherHost } from "../host/probe.ts";
import { type Watching, type World, worldOf } from "../io/world.ts";
import type { LocalEngine, Lock } from "../lock/lock.ts";
import { neededRequirement } from "../lock/needed-requirement.ts";
import { unpushedEngines } from "../lock/adopted-lock.ts";
import { checkFit } from "../resolve/check-fit.ts";
import { fitOptions } from "../resolve/resolve-options.ts";
import type { ResolveImageOptions } from "../resolve/resolve-image.ts";
import { accessTo } from "./launch/gpu-needs.ts";
import { unitsOf, vendorOf } from "./launch/gpu-units.ts";
import { runImage, type StartEvent } from "./launch/run-image.ts";
import type { LaunchCommand, LaunchRequest, LocalTarget } from "./launch/target.ts";
import { docker, podman } from "./launch/targets/docker-run.ts";
import { matchFor, type QuestionOptions, readQuestion } from "./question.ts";

export interface RunOptions extends Omit<QuestionOptions, "local" | "explain">, Watching<StartEvent> {
  /** Default: `docker`. */
  readonly engine?: LocalEngine;
  /** Further words for the engine's `run`: `["-v", "/data:/data"]`. */
  readonly option?: readonly string[];
  /** Arguments for the container's program. */
  readonly args?: readonly string[];
  /** Give the container a terminal. */
  readonly tty?: boolean;
  /** Answer the command and start nothing. */
  readonly dryRun?: boolean;
}

export interface RunCommand {
  readonly schemaVersion: 1;
  readonly argv: LaunchCommand["argv"];
}

const targets = { docker, podman } as const satisfies Record<LocalEngine, LocalTarget>;

/**
 * Resolves, then runs the image with this process's standard input and output. Answers with the container's exit code; `dryRun` with the command.
 *
 * Throws as `resolve`, `NO_MATCH` and `HOST_BROKEN`, `LAUNCH_FAILED` if the engine's program does not start, `INTERRUPTED`.
 *
 * @example
 * process.exitCode = await run({ args: ["python", "train.py"] });
 */
export async function run(
  options: RunOptions & { readonly dryRun: true },
  world?: Partial<World>,
): Promise<RunCommand>;
export async function run(
  options?: RunOptions & { readonly dryRun?: false },
  world?: Partial<World>,
): Promise<number>;
export async function run(options: RunOptions = {}, given?: Partial<World>): Promise<number | RunCommand> {
  const world = worldOf(options, given);
  const { engine = "docker", dryRun = false } = options;
  const asked = await readQuestion(options, world);
  const { lock, host } = asked;
  const held = await heldHere(engine, lock, options, world);
  const { cell, reference } = matchFor({ ...asked, options: { ...asked.options, ...held } }, world);
  const other = otherHost(options);
  if (other !== null && !dryRun) {
    throw usageError(
      `run starts the image here, and ${other} names another machine`,
      `leave ${other} out, or add --dry-run to see the command for that machine`,
    );
  }
  const image = lock.images[cell];
  if (image === undefined) throw new Error(`${cell} is not in the lock`);
  const target = targets[engine];
  const fit = checkFit(image, host, fitOptions(lock, { ...asked.options, ...held }));
  const requires = (fit.ok ? fit.as : undefined) ?? neededRequirement(image);
  const request: LaunchRequest = {
    reference,
    requires,
    host,
    ...(other === null && vendorOf(requires) === "amd" ? accessTo(unitsOf(host)) : {}),
    args: options.args ?? [],
    interactive: true,
    options: options.option ?? [],
  };
  if (dryRun) return { schemaVersion: 1, argv: target.command(request).argv };
  options.onEvent?.({ type: "start" });
  return runImage(target, { ...request, tty: options.tty ?? false });
}

/** The images that were built here and not pushed, and that the engine still has. */
async function heldHere(
  engine: LocalEngine,
  lock: Lock,
  options: RunOptions,
  { env }: World,
): Promise<Pick<ResolveImageOptions, "local">> {
  // Facts from a file speak of another machine.
  if (otherHost(options) !== null || !unpushedEngines(lock).has(engine)) return {};
  const { heldImages } = await import("../fleet/build/engines/local-images.ts");
  return { local: await heldImages(engine, env) };
}
