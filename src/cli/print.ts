/** The output of a command: its answer on standard output, everything else on standard error. */

import type { Problem } from "../errors.ts";
import type { Notice } from "../io/world.ts";
import { printableReport } from "../printable.ts";
import type { CommandContext } from "./command-context.ts";
import { reportProblem } from "./report/problems.ts";
import { type Style, styleFor } from "./report/style.ts";

/** Of every command that can answer as JSON. */
export interface JsonFlag {
  readonly json?: boolean | undefined;
}

/** `value` for programs, where they ask with `--json`; else what people read: a whole text, or its lines. */
export function print(
  { out, terminal }: Pick<CommandContext, "out" | "terminal">,
  { json }: JsonFlag,
  value: unknown,
  text: (style: Style) => string | readonly string[],
): void {
  const said = json ? `${JSON.stringify(value, null, 2)}\n` : text(styleFor(terminal.color.out));
  out(typeof said === "string" ? said : printableReport(said));
}

type Told = Pick<CommandContext, "err" | "terminal">;

/** Beside the answer. */
export function tell(lines: readonly string[], { err }: Pick<CommandContext, "err">): void {
  if (lines.length > 0) err(printableReport(lines));
}

/** Something that is wrong and does not end the command. */
export function tellProblem(problem: Problem, { err, terminal }: Told): void {
  err(`${reportProblem(problem, styleFor(terminal.color.err))}\n`);
}

/** Writes a note or a problem of the library to standard error. */
export function tellNotice(notice: Notice, told: Told): void {
  if (notice.type === "note") tell([notice.text], told);
  else tellProblem(notice.problem, told);
}
