/** `imgmatch promote`: write the images of one version under another, or move channels. */

import { type ExitCode, exitCodes } from "../errors.ts";
import type { PromoteOptions } from "../cover/promote.ts";
import type { PromotionEvent } from "../fleet/publication.ts";
import type { Notice } from "../io/world.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { collect, driverOption, noGpu, withJson, withRegistries, withTrust } from "./flags/options.ts";
import { withSigning } from "./flags/sign-options.ts";
import { reportPublication } from "./report/publication-lines.ts";

export const promote: Define = (command, run) =>
  withSigning(withTrust(withRegistries(withJson(command))))
    .description(
      "write the images of one version under another, or move channels: nothing is built, every digest stays",
    )
    .option(
      "--channel <name>",
      "move this channel of the matrix, * for any characters; repeatable",
      collect,
      [],
    )
    .option("--matrix <file>", "with --channel: the matrix (default: matrix.yaml)")
    .option(
      "--lock <file>",
      "the lock (default: images/imgmatch.lock.json, with --channel beside the matrix)",
    )
    .option(
      "--replace-index",
      "replace an index, or move a channel, that says otherwise, instead of refusing",
    )
    .option(
      "--hosts <path>",
      "with --channel: hosts that must not lose by the move: facts as cover takes them; repeatable",
      collect,
      [],
    )
    .option(
      "--catalog <names>",
      "with --channel: machine types, as cover takes them; repeatable",
      collect,
      [],
    )
    .option("--host-type <names>", "with --channel: single machine types; repeatable", collect, [])
    .option("--driver <version>", `with --channel: ${driverOption}`)
    .option("--no-gpu", `with --channel: ${noGpu}`)
    .option(
      "--allow-loss",
      "move a channel though hosts lose their image, or get one of another vendor or CUDA major",
    )
    .argument(
      "[from]",
      "the version that was tried, or its reference; with --channel: in place of the lock's",
    )
    .argument("[to]", "the version that it becomes")
    .action(run(promoteCommand));

async function promoteCommand(
  flags: PromoteOptions & { readonly json?: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { promote: promoteFleet } = await import("../cover/promote.ts");
  const onEvent = (event: PromotionEvent | Notice) =>
    event.type === "problem" || event.type === "note"
      ? context.onEvent(event)
      : reportPublication(event, flags, context);
  await promoteFleet(flags, { ...context, onEvent });
  return exitCodes.ok;
}
