/** `imgmatch launch`: write the answer of resolve in the words of what runs containers. With `--run`, exits as the container does. */

import { exitCodes, usageError } from "../errors.ts";
import type { LaunchFormat } from "../node/launch/target.ts";
import type { LaunchOptions } from "../node/launch/workload.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { collect, withLaunchHost, withQuestion } from "./flags/options.ts";
import type { JsonFlag } from "./print.ts";

interface LaunchFlags extends Omit<LaunchOptions, "format">, JsonFlag {
  readonly yaml?: boolean;
}

export const launch: Define = (command, run) =>
  withQuestion(withLaunchHost(command))
    .description("write the answer in the words of what runs containers")
    .argument(
      "<target>",
      "docker, nvidia-docker, podman, apptainer, compose, swarm, kubernetes, mesos, marathon, chronos, zun, nomad or slurm",
    )
    .argument("[args...]", "arguments for the container, after --")
    .option(
      "--gpus <which>",
      "how many, such as 2; or which: 0,2, device=0, uuids; all or none (default: all)",
    )
    .option("--allow-busy", "hand out GPUs that somebody uses")
    .addOption(
      command.createOption("--task <kind>", "whether it ends by itself").choices(["batch", "service"]),
    )
    .option("--name <name>", "name of the workload")
    .option("--env <name=value>", "set a variable in the container; repeatable", collect, [])
    .option("--mount <source:target[:ro]>", "show a folder of the host; repeatable", collect, [])
    .option("--cpus <n>", "CPUs, also parts of one")
    .option("--memory <amount>", "memory with its unit: 512m, 16g")
    .option("--command <program>", "run this program of the image in place of its entrypoint")
    .option("--set <name=value>", "what only this target asks: kind, schedule …; repeatable", collect, [])
    .option("--option <word>", "a further option of the target's command; repeatable", collect, [])
    .option("--anywhere", "do not keep it to the nodes that advertise the image")
    .option("--fleet", "one workload per image of the lock, each for the nodes where resolve picks it")
    .option("--run", "start it, where the target is this machine")
    .option("--yaml", "write YAML")
    .action(run(launchCommand));

async function launchCommand(
  { json, yaml, ...flags }: LaunchFlags,
  context: CommandContext,
): Promise<number> {
  const [{ launch: answerOf }, { launchTarget }, { formatLaunch }] = await Promise.all([
    import("../node/launch.ts"),
    import("../node/launch/launch-targets.ts"),
    import("../node/launch/format-launch.ts"),
  ]);
  const { formats } = launchTarget(flags.target);
  if (json && yaml) throw usageError("--json and --yaml are two answers", "ask for one of them");
  const asked: { format?: LaunchFormat } = json ? { format: "json" } : yaml ? { format: "yaml" } : {};
  const tty = context.terminal.interactive;
  const onEvent: LaunchOptions["onEvent"] = ({ type }) => type === "start" && context.takeSignals("child");
  const answer = await answerOf({ ...flags, ...asked, tty, onEvent }, context);
  if (typeof answer === "number") return answer;
  context.out(await formatLaunch(answer, asked.format ?? formats[0]));
  return exitCodes.ok;
}
