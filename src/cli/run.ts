/** `imgmatch run`: resolves, then runs the image with docker or podman. Exits as the container does. */

import { exitCodes, usageError } from "../errors.ts";
import { readRunWords } from "../node/launch/read-run-words.ts";
import { runImage } from "../node/launch/run-image.ts";
import { shellCommand } from "../node/launch/shell.ts";
import type { LocalTarget } from "../node/launch/target.ts";
import { docker, podman } from "../node/launch/targets/docker-run.ts";
import type { LocalEngine, Lock } from "../lock/lock.ts";
import { unpushedEngines } from "../lock/adopted-lock.ts";
import { neededRequirement } from "../lock/needed-requirement.ts";
import { unaskedLines } from "../resolve/answer-lines.ts";
import { nearestFirst, noMatch } from "../resolve/nearest.ts";
import { type ResolveOptions, resolveImage } from "../resolve/resolve-image.ts";
import type { CommandContext } from "./command-context.ts";
import { type QuestionOptions, readQuestion } from "../node/question.ts";
import { print, tell } from "./print.ts";

export interface RunFlags extends Omit<QuestionOptions, "local"> {
  /** A reference, and options of `docker run`. */
  readonly words: readonly string[];
  /** Arguments for the container's program. */
  readonly afterDashes: readonly string[];
  readonly engine: LocalEngine;
  /** Further words for the engine's `run`. */
  readonly option: readonly string[];
  readonly dryRun?: boolean;
}

const targets = { docker, podman } as const satisfies Record<LocalEngine, LocalTarget>;

export async function run(flags: RunFlags, context: CommandContext): Promise<number> {
  const { options: words, ...reference } = readRunWords(wordsBeforeDashes(flags));
  const question = await readQuestion({ ...flags, ...reference }, context);
  const { lock, host } = question;
  const options = { ...question.options, ...(await heldHere(lock, flags, context)) };
  const resolution = resolveImage(lock, host, options);
  const image = resolution.match === null ? undefined : lock.images[resolution.match.cell];
  if (resolution.match === null || image === undefined)
    throw noMatch(nearestFirst(lock, resolution.rejected, host, options));
  tell(unaskedLines(resolution), context);
  if (flags.host !== undefined && !flags.dryRun) {
    throw usageError(
      "run starts the image here, and --host speaks of another machine",
      "leave --host out, or add --dry-run to see the command for that machine",
    );
  }
  const target = targets[flags.engine];
  const request = {
    reference: resolution.match.reference,
    requires: neededRequirement(image),
    host,
    args: flags.afterDashes,
    interactive: true,
    options: [...words, ...flags.option],
  };
  if (flags.dryRun) {
    const command = target.command(request);
    print(context, flags, { schemaVersion: 1, argv: command.argv }, () => `${shellCommand(command)}\n`);
    return exitCodes.ok;
  }
  context.takeSignals("child");
  return runImage(target, { ...request, tty: context.terminal.interactive });
}

/** Commander leaves `--` among the words where an option before it is none that it knows. */
function wordsBeforeDashes({ words, afterDashes }: RunFlags): readonly string[] {
  return words.slice(0, words.length - afterDashes.length).filter((word) => word !== "--");
}

/** What was built here and not pushed, where the engine that is to run it still has it. */
async function heldHere(
  lock: Lock,
  { engine, host }: RunFlags,
  context: CommandContext,
): Promise<Pick<ResolveOptions, "local">> {
  // Facts from a file speak of another machine.
  if (host !== undefined || !unpushedEngines(lock).has(engine)) return {};
  const { heldImages } = await import("../fleet/build/engines/held-images.ts");
  return { local: await heldImages(engine, context.env) };
}
