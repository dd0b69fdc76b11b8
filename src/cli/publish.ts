/** `imgmatch publish`: push what was built and not pushed, and write one image index for the version. */

import type { ExitCode } from "../problem-codes.ts";
import type { PublishOptions } from "../fleet/publish.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import {
  withBases,
  withEngine,
  withFleet,
  withPace,
  withProgress,
  withSigning,
  withWorkspace,
} from "./flags/fleet-options.ts";
import { withAll } from "./flags/options.ts";
import { overFleets } from "./over-fleets.ts";
import { type BuildListenerFlags, exitCodeOf, listenerFor } from "./report/build-listener.ts";

const helpText = `
Exit code 1 when a cell had to be left out. With --json, "plain" has the cell
that a plain pull gets on each platform, or null.`;

export const publish: Define = (command, run) =>
  withAll(
    withFleet(command)
      .description("Push what was built and not pushed, and write one image index for the version")
      .option(
        "--replace-index",
        "Write over what the index says otherwise: of the cells of --only; without --only replace the index, and name what it loses",
      ),
    withPace,
    withProgress,
    withWorkspace,
    withEngine,
    withBases,
    withSigning,
  )
    .addHelpText("after", helpText)
    .action(run(overFleets(publishCommand, () => "lines")));

async function publishCommand(
  flags: PublishOptions & BuildListenerFlags,
  context: CommandContext,
): Promise<ExitCode> {
  const onEvent = listenerFor(flags, context, { summary: false });
  const { publishWith } = await import("../fleet/publish.ts");
  const publishFleet = publishWith(ports);
  return exitCodeOf(await publishFleet(flags, { ...context, onEvent }));
}
