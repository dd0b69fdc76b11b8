/** `imgmatch export sh`: the part of `export` that a node has too. */

import type { ExportShOptions } from "../node/export-sh.ts";
import type { CommandContext, Define } from "./command.ts";
import { withJson, withQuestion } from "./flags/options.ts";
import { print, type JsonFlag } from "./print.ts";

/** Adds `sh` to `export`. */
export const withScript: Define = (command, run) => {
  withQuestion(withJson(command.command("sh")))
    .description("Write a script of sh and awk that answers as resolve does")
    .argument("[reference]", "registry/repository:version, in place of a lock")
    .action(run(shCommand));
  return command;
};

async function shCommand(flags: ExportShOptions & JsonFlag, context: CommandContext): Promise<void> {
  const { exportShWith } = await import("../node/export-sh.ts");
  const exportSh = exportShWith(context.ports);
  const answer = await exportSh(flags, context);
  print(context, flags, answer, () => answer.script);
}
