/** `imgmatch labels`: print the labels that this node should advertise, for one system. */

import { usageError } from "../errors.ts";
import { type ExitCode, exitCodes } from "../problem-codes.ts";
import type { LabelsOptions } from "../node/labels.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { collect, withAll, withFrom, withHost, withRegistryFleet } from "./flags/options.ts";
import type { JsonFlag } from "./print.ts";

interface LabelsFlags extends LabelsOptions, JsonFlag {
  readonly format?: string;
}

export const labels: Define = (command, run) =>
  withAll(
    withFrom(command)
      .description("Print the labels that this node should advertise to a scheduler")
      .option("--format <system>", "Write for kubernetes (default), nfd, mesos, docker, nomad, slurm or json")
      .option("--lock <file>", "Add the image of this lock that resolve picks here")
      .option("--pin <axis=value>", "With --lock or --from: fix an axis", collect, [])
      .option("--cpu", "With --lock or --from: choose only images without GPU code"),
    withHost,
    withRegistryFleet,
  ).action(run(labelsCommand));

async function labelsCommand(flags: LabelsFlags, context: CommandContext): Promise<ExitCode> {
  const [{ labels: answerOf }, { isLabelFormat, labelFormats }] = await Promise.all([
    import("../node/labels.ts"),
    import("../node/launch/labels/label-formats.ts"),
  ]);
  const format = flags.format ?? (flags.json ? "json" : "kubernetes");
  if (!isLabelFormat(format)) {
    throw usageError(
      `${JSON.stringify(format)} is not a format of labels`,
      `use one of: ${Object.keys(labelFormats).join(", ")}`,
    );
  }
  const { labels, host } = await answerOf(flags, context);
  context.out(labelFormats[format].write(labels, host));
  return exitCodes.ok;
}
