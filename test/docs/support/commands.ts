/** The program's commands and their flags. */

import { Command } from "commander";
import { commandGroups } from "../../../src/cli/command-table.ts";

export interface Described {
  /** `plan`, or `lock merge` for a command of a command. */
  readonly name: string;
  /** Each as the help shows it: `--only <cells>`. */
  readonly flags: readonly string[];
}

/** In the order of the help text. */
export const describedCommands: readonly Described[] = (
  await Promise.all(
    Object.values(commandGroups)
      .flatMap((commands) => Object.entries(commands))
      .map(async ([name, load]) => {
        const command = new Command(name);
        const define = await load();
        define(command, () => async () => {});
        return [
          describe(name, command),
          ...command.commands.map((sub) => describe(`${name} ${sub.name()}`, sub)),
        ];
      }),
  )
).flat();

function describe(name: string, command: Command): Described {
  return { name, flags: command.options.map(({ flags }) => flags) };
}
