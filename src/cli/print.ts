/** What a command prints: its answer on standard output, everything else on standard error. */

import { printableReport } from "../printable.ts";
import { type Style, styleFor } from "./report/style.ts";
import type { CommandContext } from "./command-context.ts";

/** `value` for programs, where they ask with `--json`; else what people read: a whole text, or its lines. */
export function print(
  { out, terminal }: Pick<CommandContext, "out" | "terminal">,
  { json }: { readonly json?: boolean },
  value: unknown,
  text: (style: Style) => string | readonly string[],
): void {
  const said = json ? `${JSON.stringify(value, null, 2)}\n` : text(styleFor(terminal.color.out));
  out(typeof said === "string" ? said : printableReport(said));
}

/** Beside the answer. */
export function tell(lines: readonly string[], { err }: Pick<CommandContext, "err">): void {
  if (lines.length > 0) err(printableReport(lines));
}
