/** Something that is wrong and does not end the command, on standard error. Apart from `print.ts`, which `resolve` loads. */

import type { Problem } from "../errors.ts";
import { reportProblem } from "./report/problems.ts";
import { styleFor } from "./report/style.ts";
import type { CommandContext } from "./command-context.ts";

export function tellProblem(
  problem: Problem,
  { err, terminal }: Pick<CommandContext, "err" | "terminal">,
): void {
  err(`${reportProblem(problem, styleFor(terminal.color.err))}\n`);
}
