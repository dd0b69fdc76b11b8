/** What was signed: lines of JSON, or one line for people. */

import type { FleetSigning } from "../fleet/sign-fleet.ts";
import { count } from "../io/table.ts";
import type { CommandContext } from "./command-context.ts";

export function tellSigned(
  signing: FleetSigning | null,
  { json }: { readonly json?: boolean },
  { out, err }: Pick<CommandContext, "out" | "err">,
): void {
  const { signed, kept } = signing?.done() ?? { signed: [], kept: [] };
  if (signed.length + kept.length === 0) return;
  if (json) out(`${JSON.stringify({ schemaVersion: 1, type: "signatures", signed, kept })}\n`);
  else err(`signed ${count(signed.length, "manifest")}, ${kept.length} had this signature already\n`);
}
