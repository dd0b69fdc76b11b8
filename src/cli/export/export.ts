/** `imgmatch export KIND`: the fleet in the words of another tool. Adding a kind is one file and one line. */

import { type ExitCode, usageError } from "../../errors.ts";
import type { CommandContext } from "../command-context.ts";
import type { ExportFlags } from "../../fleet/plan-choice.ts";

type Export = (flags: ExportFlags, context: CommandContext) => Promise<ExitCode>;

const kinds: Readonly<Record<string, () => Promise<Export>>> = {
  bake: async () => (await import("./bake.ts")).exportBake,
  "github-matrix": async () => (await import("./github-matrix.ts")).exportGithubMatrix,
  "nfd-compat": async () => (await import("./nfd-compat.ts")).exportNfdCompat,
};

export async function exportFleet(flags: ExportFlags, context: CommandContext): Promise<ExitCode> {
  const load = Object.hasOwn(kinds, flags.kind) ? kinds[flags.kind] : undefined;
  if (load === undefined) {
    throw usageError(
      `${JSON.stringify(flags.kind)} is nothing to export to`,
      `write one of: ${Object.keys(kinds).join(", ")}`,
    );
  }
  return (await load())(flags, context);
}
