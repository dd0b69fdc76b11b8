/** `imgmatch export KIND`: the fleet in the words of another tool. Adding a kind is one file and one line. */

import { type ExitCode, ImgmatchError } from "../errors.ts";
import type { CommandContext } from "./context.ts";
import type { ExportFlags } from "./export-plan.ts";

type Export = (flags: ExportFlags, context: CommandContext) => Promise<ExitCode>;

const kinds: Readonly<Record<string, () => Promise<Export>>> = {
  bake: async () => (await import("./export-bake.ts")).exportBake,
  "github-matrix": async () => (await import("./export-github-matrix.ts")).exportGithubMatrix,
  "nfd-compat": async () => (await import("./export-nfd-compat.ts")).exportNfdCompat,
};

export async function exportFleet(flags: ExportFlags, context: CommandContext): Promise<ExitCode> {
  const load = Object.hasOwn(kinds, flags.kind) ? kinds[flags.kind] : undefined;
  if (load === undefined) {
    throw new ImgmatchError({
      code: "USAGE",
      message: `${JSON.stringify(flags.kind)} is nothing to export to`,
      fix: `write one of: ${Object.keys(kinds).join(", ")}`,
    });
  }
  return (await load())(flags, context);
}
