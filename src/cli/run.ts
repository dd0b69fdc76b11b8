/** `imgmatch run`: resolve, then run the image with docker or podman. Exits as the container does. */

import { exitCodes } from "../problem-codes.ts";
import type { RunOptions } from "../node/run.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import {
  allowBusy,
  choice,
  engineOfRun,
  many,
  noDeprecated,
  wantedGpus,
  withLaunchHost,
  withQuestion,
} from "./flags/options.ts";
import { print, type JsonFlag } from "./print.ts";

interface RunFlags extends RunOptions, JsonFlag {
  /** A reference, and options of `docker run`. */
  readonly words: readonly string[];
  readonly afterDashes: readonly string[];
  readonly option: readonly string[];
}

const helpText = `
It runs docker run --rm --interactive with free GPUs, by CDI or --gpus (a number
is a count; GPU_BUSY where too few are free, or --allow-busy shares them);
an image with a bundled driver gets the device nodes alone. Options of docker
run are passed on, except --gpus, --cidfile and -h (write --hostname).
It ends with the container's exit code.`;

export const run: Define = (command, run) =>
  withQuestion(
    withLaunchHost(
      command
        .description("Run this host's image with docker or podman")
        .usage("[options] [reference] [options of docker run] [-- arguments for the container]")
        .argument("[words...]", "the same as --from, and options of docker run: -v, -e, -p, --name …")
        .option(...noDeprecated)
        .option(...wantedGpus)
        .option(...allowBusy)
        .option("--dry-run", "Print the docker command instead of running it")
        .addOption(choice(command, "--engine <name>", engineOfRun, ["docker", "podman"]))
        .option("--option <word>", "Add a word to the engine's run", ...many)
        .allowUnknownOption(),
    ),
  )
    .addHelpText("after", helpText)
    .action(run(runCommand));

async function runCommand(flags: RunFlags, context: CommandContext): Promise<number> {
  const [{ runWith }, { readRunWords }] = await Promise.all([
    import("../node/run.ts"),
    import("../node/launch/read-run-words.ts"),
  ]);
  const { options: words, ...reference } = readRunWords(wordsBeforeDashes(flags));
  const { dryRun, ...question } = { ...flags, ...reference };
  const options = { ...question, option: [...words, ...flags.option], args: flags.afterDashes };
  if (dryRun) {
    const { shellCommand } = await import("../node/launch/shell.ts");
    const answer = await runWith(ports)({ ...options, dryRun }, context);
    print(context, flags, answer, () => `${shellCommand({ argv: answer.argv, env: {} })}\n`);
    return exitCodes.ok;
  }
  const tty = context.terminal.interactive;
  const onEvent: RunOptions["onEvent"] = ({ type }) => type === "start" && context.takeSignals("child");
  return runWith(ports)({ ...options, tty, onEvent }, context);
}

/** Commander keeps `--` among the words after an option that it does not know. */
function wordsBeforeDashes({ words, afterDashes }: RunFlags): readonly string[] {
  return words.slice(0, words.length - afterDashes.length).filter((word) => word !== "--");
}
