/** `imgmatch labels`: print the labels that this node or many should advertise, for one system. */

import { usageError } from "../errors.ts";
import type { LabelsOptions } from "../node/labels.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import { many, withAll, withFrom, withHosts, withRegistryFleet } from "./flags/options.ts";
import type { JsonFlag } from "./print.ts";

interface LabelsFlags extends LabelsOptions, JsonFlag {
  readonly format?: string;
}

export const labels: Define = (command, run) =>
  withAll(
    withFrom(command)
      .description("Print the labels that nodes should advertise to a scheduler")
      .option(
        "--format <system>",
        "Write for kubernetes (default), nfd, mesos, docker, nomad, slurm or json; with --hosts also patch",
      )
      .option("--lock <file>", "Add the image of this lock that resolve picks here")
      .option("--pin <axis=value>", "With --lock or --from: fix an axis", ...many)
      .option("--cpu", "With --lock or --from: choose only images without GPU code")
      .option("--require-gpu", "With --lock or --from: choose only images with GPU code")
      .option("--remove", "With --hosts: take the labels of this question away"),
    withHosts,
    withRegistryFleet,
  ).action(run(labelsCommand));

async function labelsCommand(flags: LabelsFlags, context: CommandContext): Promise<void> {
  const format = flags.format ?? (flags.json ? "json" : "kubernetes");
  const { hosts: [first, ...others] = [] } = flags;
  const { labelsWith } = await import("../node/labels.ts");
  const labelsOf = labelsWith(ports);
  if (first !== undefined) {
    const { hostLabelFormats, isHostLabelFormat } = await import(
      "../node/launch/labels/host-label-formats.ts"
    );
    if (!isHostLabelFormat(format)) throw unknownFormat(format, "labels of many hosts", hostLabelFormats);
    const { hosts } = await labelsOf({ ...flags, hosts: [first, ...others] }, context);
    return context.out(hostLabelFormats[format].write(hosts));
  }
  const { isLabelFormat, labelFormats } = await import("../node/launch/labels/label-formats.ts");
  if (!isLabelFormat(format)) throw unknownFormat(format, "labels", labelFormats);
  const { labels, host } = await labelsOf(flags, context);
  context.out(labelFormats[format].write(labels, host));
}

function unknownFormat(format: string, what: string, known: object) {
  return usageError(
    `${JSON.stringify(format)} is not a format of ${what}`,
    `use one of: ${Object.keys(known).join(", ")}`,
  );
}
