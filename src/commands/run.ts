/** `imgmatch run`: resolves, then runs the image with docker. Exits as the container does. */

import { type ExitCode, exitCodes, ImgmatchError } from "../errors.ts";
import { runImage } from "../launch/run.ts";
import { shellCommand } from "../launch/shell.ts";
import { docker } from "../launch/targets/docker.ts";
import { neededRequirement } from "../lock/needed-requirement.ts";
import { nearestFirst } from "../resolve/nearest.ts";
import { resolveImage } from "../resolve/resolve.ts";
import type { CommandContext } from "./context.ts";
import { noMatch, type QuestionFlags, readQuestion, tellUnasked } from "./question.ts";

export interface RunFlags extends QuestionFlags {
  /** Arguments for the container's program. */
  readonly args: readonly string[];
  readonly dryRun?: boolean;
  readonly json?: boolean;
}

export async function run(flags: RunFlags, context: CommandContext): Promise<ExitCode> {
  const { lock, host, options } = await readQuestion(flags, context);
  const resolution = resolveImage(lock, host, options);
  const image = resolution.match === null ? undefined : lock.images[resolution.match.cell];
  if (resolution.match === null || image === undefined)
    throw noMatch(nearestFirst(lock, resolution.rejected, host, options));
  tellUnasked(resolution, context);
  if (flags.host !== undefined && !flags.dryRun) {
    throw new ImgmatchError({
      code: "USAGE",
      message: "run starts the image here, and --host speaks of another machine",
      fix: "leave --host out, or add --dry-run to see the command for that machine",
    });
  }
  const request = {
    reference: resolution.match.reference,
    requires: neededRequirement(image),
    host,
    args: flags.args,
    interactive: true,
    tty: context.terminal.interactive,
  };
  if (flags.dryRun) {
    const command = docker.command({ ...request, tty: false });
    context.out(
      flags.json
        ? `${JSON.stringify({ schemaVersion: 1, argv: command.argv }, null, 2)}\n`
        : `${shellCommand(command)}\n`,
    );
    return exitCodes.ok;
  }
  context.takeSignals("child");
  // The container's own exit code is the answer, whatever it is.
  return (await runImage(docker, request)) as ExitCode;
}
