/** `imgmatch adopt REF…`: images that others built become rows of a lock. */

import { type ExitCode, exitCodes } from "../errors.ts";
import type { Adoption, AdoptOptions } from "../fleet/adopt.ts";
import { describeMeasured } from "../resolve/describe-measured.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { collect, withJson, withRegistries } from "./flags/options.ts";
import { progressTo } from "./open-progress.ts";
import { print, tell } from "./print.ts";

interface AdoptFlags extends AdoptOptions {
  readonly json?: boolean;
}

export const adopt: Define = (command, run) =>
  withRegistries(withJson(command))
    .description("open images that others built and write them into a lock, for resolve, publish and launch")
    .argument("<references...>", "images, each with its tag")
    .option("--lock <file>", "the lock (default: images/imgmatch.lock.json)")
    .option("--publish-to <repository>", "copy images of other repositories there, and lock them there")
    .option("--axis <axis=value>", "an axis of all these images; repeatable", collect, [])
    .option("--tag-pattern <pattern>", "axes out of each tag: {pytorch}-cuda*-{flavor}")
    .option("--march <name>", "state what they were compiled for (default: estimated from their files)")
    .option("--without <feature>", "a feature of that march which they do without; repeatable", collect, [])
    .option("--cuda <version>", "state the toolkit that is loaded, where the files do not decide it")
    .option("--platform <os/arch>", "of an index, the image for this platform (default: this machine's)")
    .option("--name <name>", "name of the fleet, in a new lock (default: the last part of the repository)")
    .option(
      "--fleet-version <version>",
      "version of the fleet, which becomes the tag of its index (default: 1)",
    )
    .action(run(adoptCommand));

async function adoptCommand(flags: AdoptFlags, context: CommandContext): Promise<ExitCode> {
  const { adopt: answerOf } = await import("../fleet/adopt.ts");
  const progress = progressTo(context);
  const onEvent: AdoptOptions["onEvent"] = (event) => {
    if (event.type === "open") progress.layer(event);
    if (event.type !== "copy") return;
    progress.clear();
    context.err(`copying ${event.from} to ${event.to}\n`);
  };
  const answer = await answerOf({ ...flags, onEvent }, context).finally(progress.clear);
  print(context, flags, answer, () => answer.adopted.flatMap(adoptedLines));
  if (!flags.json) tell([`in ${answer.lock}; next: imgmatch publish, or imgmatch resolve`], context);
  return exitCodes.ok;
}

function adoptedLines({ cell, image, notes }: Adoption): readonly string[] {
  const cpu = describeMeasured(image) ?? `stated: ${image.requires.cpu.march}`;
  return [
    `${cell}  ${image.platform}  CUDA ${image.requires.cuda?.toolkit ?? "none"}  CPU ${cpu}`,
    ...notes.map((note) => `  note: ${note}`),
  ];
}
