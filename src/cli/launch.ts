/** `imgmatch launch`: write the command or manifest that starts this host's image. */

import { usageError } from "../errors.ts";
import { launchTarget, launchTargets } from "../node/launch/launch-targets.ts";
import type { LaunchFormat } from "../node/launch/target.ts";
import type { LaunchOptions } from "../node/launch/workload.ts";
import { ports } from "../ports.ts";
import type { CommandContext, Define } from "./command.ts";
import { allowBusy, choice, many, wantedGpus, withLaunchHost, withQuestion } from "./flags/options.ts";
import type { JsonFlag } from "./print.ts";

interface LaunchFlags extends Omit<LaunchOptions, "format">, JsonFlag {
  readonly yaml?: boolean;
}

export const launch: Define = (command, run) =>
  withQuestion(
    withLaunchHost(
      command
        .description("Write the command or manifest that starts this host's image")
        .argument("<target>", Object.keys(launchTargets).join(", "))
        .argument("[args...]", "arguments for the container, after --")
        .option("--yaml", "Write YAML")
        .option(
          "--fleet",
          "Write one workload for each image of the lock, each for the nodes where resolve picks it",
        )
        .optionsGroup("Workload:")
        .option("--name <name>", "Name the workload")
        .addOption(
          choice(
            command,
            "--task <kind>",
            "Run the container to its end (batch), or keep it running (service)",
            ["batch", "service"],
          ),
        )
        .option(...wantedGpus)
        .option("--dra", "Claim the GPUs as devices, with Kubernetes' dynamic resource allocation")
        .option(
          "--devices <list>",
          "Claim these, the first that are free: 1xB300,2xH200,4xH100; product, compute capability, gfx target, MIG profile, memory",
        )
        .option(...allowBusy)
        .option("--env <name=value>", "Set a variable in the container", ...many)
        .option("--mount <source:target[:ro]>", "Show a folder of the host to the container", ...many)
        .option(
          "--publish <host:container>",
          "Publish a port of the container: 8888:8888, 53:53/udp",
          ...many,
        )
        .option("--cpus <n>", "Ask for this many CPUs, or parts of one")
        .option("--memory <amount>", "Ask for this much memory: 512m, 16g")
        .option("--command <program>", "Run this program of the image in place of its entrypoint")
        .option("--anywhere", "Let any node run the image, also a node without the image's label")
        .option("--set <name=value>", "Set what only this target knows: kind, schedule …", ...many)
        .option("--option <word>", "Add a word to the target's command", ...many),
    ),
  ).action(run(launchCommand));

async function launchCommand({ json, yaml, ...flags }: LaunchFlags, context: CommandContext): Promise<void> {
  const [{ launchWith }, { formatLaunch }] = await Promise.all([
    import("../node/launch.ts"),
    import("../node/launch/format-launch.ts"),
  ]);
  const { formats } = launchTarget(flags.target);
  if (json && yaml) throw usageError("--json and --yaml exclude each other", "ask for one of them");
  const form: { format?: LaunchFormat } = json ? { format: "json" } : yaml ? { format: "yaml" } : {};
  const answer = await launchWith(ports)({ ...flags, ...form }, context);
  context.out(await formatLaunch(answer, form.format ?? formats[0]));
}
