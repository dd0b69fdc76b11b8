/** `imgmatch export sh`: of `export` what a node has too. */

import { type ExitCode, exitCodes } from "../errors.ts";
import type { ExportShOptions } from "../node/export-sh.ts";
import type { CommandContext } from "./command-context.ts";
import type { Define } from "./define.ts";
import { withQuestion } from "./flags/options.ts";
import { print, type JsonFlag } from "./print.ts";

/** Below `export`. */
export const withScript: Define = (command, run) => {
  withQuestion(command.command("sh"))
    .description("write a script of sh and awk that answers as resolve does")
    .argument("[reference]", "registry/repository:version, in place of a lock")
    .option("--json", "answer as JSON, errors included")
    .action(run(shCommand));
  return command;
};

async function shCommand(flags: ExportShOptions & JsonFlag, context: CommandContext): Promise<ExitCode> {
  const { exportSh } = await import("../node/export-sh.ts");
  const answer = await exportSh(flags, context);
  print(context, flags, answer, () => answer.script);
  return exitCodes.ok;
}
