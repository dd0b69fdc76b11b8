/** `imgmatch promote FROM TO`: write the images of one version under another. */

import { type ExitCode, exitCodes } from "../errors.ts";
import type { PromoteOptions } from "../fleet/promote.ts";
import type { PublicationEvent } from "../fleet/publication.ts";
import type { Notice } from "../io/world.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { withJson, withRegistries, withTrust } from "./flags/options.ts";
import { withSigning } from "./flags/sign-options.ts";
import { reportPublication } from "./report/publication-lines.ts";

export const promote: Define = (command, run) =>
  withSigning(withTrust(withRegistries(withJson(command))))
    .description("write the images of one version under another: nothing is built, every digest stays")
    .option("--lock <file>", "the lock, where a version alone is named", "images/imgmatch.lock.json")
    .option("--replace-index", "replace an index that says otherwise, instead of refusing")
    .argument("<from>", "the version that was tried, or its reference: registry/repository:version")
    .argument("<to>", "the version that it becomes")
    .action(run(promoteCommand));

async function promoteCommand(
  flags: PromoteOptions & { readonly json?: boolean },
  context: CommandContext,
): Promise<ExitCode> {
  const { promote: promoteFleet } = await import("../fleet/promote.ts");
  const onEvent = (event: PublicationEvent | Notice) =>
    event.type === "problem" || event.type === "note"
      ? context.onEvent(event)
      : reportPublication(event, flags, context);
  await promoteFleet(flags, { ...context, onEvent });
  return exitCodes.ok;
}
