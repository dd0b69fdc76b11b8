/** The output of a command: its answer on standard output, everything else on standard error. */

import type { Problem } from "../errors.ts";
import type { Notice } from "../io/world.ts";
import { printableReport } from "../printable.ts";
import type { CommandContext } from "./command.ts";
import { reportProblem } from "./report/problems.ts";
import { type Style, styleFor } from "./report/style.ts";

/** The flag of every command that can answer as JSON. */
export interface JsonFlag {
  readonly json?: boolean | undefined;
}

/** Prints `value` as JSON if `--json` asks for it, else the text for people: whole, or as lines. */
export function print(
  { out, terminal }: Pick<CommandContext, "out" | "terminal">,
  { json }: JsonFlag,
  value: unknown,
  text: (style: Style) => string | readonly string[],
): void {
  const answer = json
    ? `${JSON.stringify(value, null, 2)}\n`
    : text(styleFor(terminal.color.out, terminal.width));
  out(typeof answer === "string" ? answer : printableReport(answer));
}

type Terminal = Pick<CommandContext, "err" | "terminal">;

/** Writes lines to standard error. */
export function tell(lines: readonly string[], { err }: Pick<CommandContext, "err">): void {
  if (lines.length > 0) err(printableReport(lines));
}

/** Writes a problem to standard error. */
export function tellProblem(problem: Problem, { err, terminal }: Terminal): void {
  err(`${reportProblem(problem, styleFor(terminal.color.err))}\n`);
}

/** Writes a note or a problem of the library to standard error. */
export function tellNotice(notice: Notice, context: Terminal): void {
  if (notice.type === "note") tell([notice.text], context);
  else tellProblem(notice.problem, context);
}
