/** `imgmatch inspect IMAGE`: what is in an image, read from its files. */

import { type ExitCode, exitCodes } from "../errors.ts";
import type { InspectOptions } from "../inspect/inspect-image.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { withJson, withRegistries } from "./flags/options.ts";
import { inspectLines } from "./inspect-lines.ts";
import { progressTo } from "./open-progress.ts";
import { print } from "./print.ts";

interface InspectFlags extends InspectOptions {
  readonly files?: boolean;
  readonly json?: boolean;
}

const helpText = `
The image is read from the engine, from a registry without an engine, or from
an archive of docker save, an OCI archive or layout, or a root file system;
a path begins with / or . or ends in .tar, .tgz or the like.
Opened layers are kept below $XDG_CACHE_HOME/imgmatch (~/.cache/imgmatch).`;

export const inspect: Define = (command, run) =>
  withRegistries(
    withJson(command)
      .description("Say which CPU, GPU and driver the files of an image need")
      .argument("<image>", "reference, image of the engine, ./archive.tar, ./layout or ./root-folder")
      .option("--files", "Show every file, not only those that decide")
      .addOption(
        command
          .createOption("--from <place>", "Look for the image only there")
          .choices(["engine", "registry"]),
      )
      .option("--platform <os/arch>", "Take this platform's image from an index (default: this machine's)")
      .option("--no-cache", "Open layers again that were opened before"),
  )
    .addHelpText("after", helpText)
    .action(run(inspectCommand));

async function inspectCommand(flags: InspectFlags, context: CommandContext): Promise<ExitCode> {
  const { inspect: inspectionOf } = await import("../inspect/inspect-image.ts");
  const progress = progressTo(context);
  const onEvent: InspectOptions["onEvent"] = (event) => {
    if (event.type === "open") progress.layer(event);
  };
  const inspection = await inspectionOf({ ...flags, onEvent }, context).finally(progress.clear);
  print(context, flags, inspection, (style) =>
    inspectLines(inspection, { allFiles: flags.files === true, style }),
  );
  return exitCodes.ok;
}
