/** `imgmatch completion bash|zsh|fish`: print the script that completes commands, flags and values in a shell. */

import { usageError } from "../errors.ts";
import { machineCatalogs, machineTypes } from "../hardware/machine-types.ts";
import type { CommandContext, Define } from "./command.ts";
import { bash, fish, pathsWord, zsh } from "./completion-texts.ts";
import { type Suggestions, suggestWords } from "./complete-words.ts";

const texts = { bash, zsh, fish } as const;
const shells = ["bash", "zsh", "fish"] as const satisfies readonly (keyof typeof texts)[];
type Shell = (typeof shells)[number];

const helpText = `
  bash  source <(imgmatch completion bash)           in ~/.bashrc
  zsh   source <(imgmatch completion zsh)            in ~/.zshrc, after compinit
  fish  imgmatch completion fish > ~/.config/fish/completions/imgmatch.fish`;

export const completion: Define = (command, run) =>
  command
    .description("Print the script that completes commands, flags and values in a shell")
    .argument("<shell>", shells.join(", "))
    .addHelpText("after", helpText)
    .action(run(completionCommand));

async function completionCommand(
  { shell }: { readonly shell: string },
  context: CommandContext,
): Promise<void> {
  const known = shells.find((name) => name === shell);
  if (known === undefined)
    throw usageError(`there is no completion for ${JSON.stringify(shell)}`, `write ${shells.join(", ")}`);
  context.out(texts[known]);
}

/** The command that the scripts call, with the words of the line after `--`. Its environment says which shell asks, and where its cursor is. */
export const completionServer: Define = (command, run) =>
  command.argument("[words...]").action(
    run(async ({ words = [] }: { readonly words?: readonly string[] }, { env, out }: CommandContext) => {
      const shell = shells.find((name) => name === env.SHELL) ?? "bash";
      const typed = words.slice(0, Number(env.COMP_CWORD) + 1);
      const suggestions = await suggestWords(command.parent ?? command, typed.slice(1), {
        "--host-type": async () => (await machineTypes()).map(({ name }) => name),
        shell: async () => shells,
        "--catalog": async () => machineCatalogs,
        target: async () => Object.keys((await import("../node/launch/launch-targets.ts")).launchTargets),
        kind: async () => (await import("../node/tables/describe-hardware.ts")).hardwareKinds,
      });
      for (const line of linesFor(shell, suggestions)) out(`${line}\n`);
    }),
  );

function linesFor(shell: Shell, { values, files }: Suggestions): readonly string[] {
  if (values.length === 0) return files && shell !== "bash" ? [pathsWord] : [];
  if (shell === "bash") return values.map(({ name }) => name);
  if (shell === "fish") return values.map(({ name, text }) => `${name}\t${text}`);
  const escaped = (text: string) => text.replaceAll(":", "\\:");
  return values.map(({ name, text }) =>
    [name, text]
      .filter((each) => each !== "")
      .map(escaped)
      .join(":"),
  );
}
