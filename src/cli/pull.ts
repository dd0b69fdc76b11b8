/** `imgmatch pull`: resolve, then have this node's container runtime pull the image, and print the name that it has here. */

import { exitCodes, type ExitCode } from "../errors.ts";
import type { PullOptions } from "../node/pull.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { collect, withJson, withQuestion, withVisibleGpus } from "./flags/options.ts";
import { print, type JsonFlag } from "./print.ts";

export const pull: Define = (command, run) =>
  withQuestion(withVisibleGpus(withJson(command)))
    .description("resolve, then pull the image and give it the version's plain name here")
    .option("--as <name>", "the name: registry/repository:tag (default: the version's)")
    .addOption(
      command
        .createOption("--engine <name>", "what pulls")
        .choices(["docker", "podman", "containerd", "nerdctl"])
        .default("docker"),
    )
    .option("--namespace <name>", "of containerd and nerdctl: where they keep the image (default: k8s.io)")
    .option("--option <word>", "a further option of the engine's pull; repeatable", collect, [])
    .argument("[reference]", "the same as --from")
    .action(run(pullCommand));

async function pullCommand(flags: PullOptions & JsonFlag, context: CommandContext): Promise<ExitCode> {
  const { pull: answerOf } = await import("../node/pull.ts");
  const answer = await answerOf(flags, context);
  print(context, flags, answer, () => `${answer.name}\n`);
  return exitCodes.ok;
}
