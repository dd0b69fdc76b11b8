/** `imgmatch run`: resolves, then runs the image with docker. Exits as the container does. */

import { exitCodes, usageError } from "../errors.ts";
import { runImage } from "../launch/run.ts";
import { neededRequirement } from "../lock/needed-requirement.ts";
import { shellCommand } from "../launch/shell.ts";
import { docker } from "../launch/targets/docker.ts";
import { unaskedLines } from "../report/answer.ts";
import { nearestFirst } from "../resolve/nearest.ts";
import { noMatch } from "../resolve/no-match.ts";
import { resolveImage } from "../resolve/resolve.ts";
import type { CommandContext } from "./context.ts";
import { type QuestionFlags, readQuestion } from "./flags/question.ts";
import { print, tell } from "./print.ts";

export interface RunFlags extends QuestionFlags {
  /** Arguments for the container's program. */
  readonly args: readonly string[];
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export async function run(flags: RunFlags, context: CommandContext): Promise<number> {
  const { lock, host, options } = await readQuestion(flags, context);
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
  const { reference } = resolution.match;
  const request = {
    reference,
    requires: neededRequirement(image),
    host,
    args: flags.args,
    interactive: true,
  };
  if (flags.dryRun) {
    const command = docker.command(request);
    print(context, flags, { schemaVersion: 1, argv: command.argv }, () => `${shellCommand(command)}\n`);
    return exitCodes.ok;
  }
  context.takeSignals("child");
  return runImage(docker, { ...request, tty: context.terminal.interactive });
}
