/** `imgmatch pull`: pull this host's image with the container runtime, and print its name here. */

import type { PullOptions } from "../node/pull.ts";
import type { CommandContext, Define } from "./command.ts";
import { choice, many, noDeprecated, withJson, withQuestion, withVisibleGpus } from "./flags/options.ts";
import { print, type JsonFlag } from "./print.ts";

export const pull: Define = (command, run) =>
  withQuestion(
    withVisibleGpus(
      withJson(command)
        .description("Pull this host's image, and tag it here with the version's name")
        .argument("[reference]", "the same as --from")
        .option(...noDeprecated)
        .option("--as <name>", "Give it this name: registry/repository:tag (default: the version's)")
        .addOption(
          choice(
            command,
            "--engine <name>",
            "Pull with this engine",
            ["docker", "podman", "containerd", "nerdctl"],
            "docker",
          ),
        )
        .option(
          "--namespace <name>",
          "Keep the image in this namespace of containerd or nerdctl (default: k8s.io)",
        )
        .option("--option <word>", "Add a word to the engine's pull", ...many),
    ),
  ).action(run(pullCommand));

async function pullCommand(flags: PullOptions & JsonFlag, context: CommandContext): Promise<void> {
  const { pullWith } = await import("../node/pull.ts");
  const pull = pullWith(context.ports);
  const answer = await pull(flags, context);
  print(context, flags, answer, () => `${answer.name}\n`);
}
