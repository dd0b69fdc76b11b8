/** What a command prints: its answer on standard output, everything else on standard error. */

import { printableReport } from "../input/printable.ts";
import type { CommandContext } from "./context.ts";

/** `value` for programs, where they ask with `--json`; else what people read. */
export function print(
  { out }: Pick<CommandContext, "out">,
  { json }: { readonly json?: boolean },
  value: unknown,
  text: () => string,
): void {
  out(json ? `${JSON.stringify(value, null, 2)}\n` : text());
}

/** Beside the answer. */
export function tell(lines: readonly string[], { err }: Pick<CommandContext, "err">): void {
  if (lines.length > 0) err(printableReport(lines));
}
