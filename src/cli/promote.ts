/** `imgmatch promote`: write the images of one version under another, or move channels. */

import { lockPath } from "../lock/lock.ts";
import type { PromoteOptions } from "../fleet/promote.ts";
import type { PromotionEvent } from "../fleet/publish/publication.ts";
import type { Notice } from "../io/world.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import { driverOption, many, noGpu, withAll, withJson, withRegistries, withTrust } from "./flags/options.ts";
import { withSigning } from "./flags/fleet-options.ts";
import { reportPublication } from "./report/publication-lines.ts";
import type { JsonFlag } from "./print.ts";

const helpText = `
imgmatch promote 1.1.0-rc1 1.1.0          write the index of 1.1.0
imgmatch promote --channel latest         move a channel to the lock's images
imgmatch promote 1.0.0 --channel latest   move it to those of a version`;

export const promote: Define = (command, run) =>
  withAll(
    withJson(command)
      .description("Publish the images of one version as another version, or move channels; build nothing")
      .argument(
        "[from]",
        "the version that was tried, or its reference; with --channel: in place of the lock's",
      )
      .argument("[to]", "the version that it becomes")
      .option("--lock <file>", `Read this lock (default: ${lockPath}, with --channel beside the matrix)`)
      .option(
        "--replace-index",
        "Replace an index or a channel that says something else, and name what it loses",
      )
      .optionsGroup("Channels:")
      .option("--channel <name>", "Move this channel of the matrix; * stands for any characters", ...many)
      .option("--matrix <file>", "Read this matrix (default: matrix.yaml)")
      .option(
        "--hosts <path>",
        "Refuse where one of these hosts would lose; facts as cover takes them",
        ...many,
      )
      .option(
        "--catalog <names>",
        "Refuse where a machine type of these clouds would lose, as cover takes them",
        ...many,
      )
      .option("--host-type <names>", "Refuse where one of these machine types would lose", ...many)
      .option("--driver <version>", driverOption, ...many)
      .option("--no-gpu", noGpu)
      .option(
        "--allow-loss",
        "Move a channel even where hosts lose their image, or get one of another vendor or CUDA major",
      ),
    withRegistries,
    withTrust,
    withSigning,
  )
    .addHelpText("after", helpText)
    .action(run(promoteCommand));

async function promoteCommand(flags: PromoteOptions & JsonFlag, context: CommandContext): Promise<void> {
  const { promoteWith } = await import("../fleet/promote.ts");
  const promoteFleet = promoteWith(ports);
  const onEvent = (event: PromotionEvent | Notice) =>
    event.type === "problem" || event.type === "note"
      ? context.onEvent(event)
      : reportPublication(event, flags, context);
  await promoteFleet(flags, { ...context, onEvent });
}
