/** `imgmatch export KIND`: the fleet in the words of another tool. Adding a kind is one file and one line. */

import { type ExitCode, ImgmatchError, type Problem, throwProblems } from "../errors.ts";
import { type Fleet, planOpenFleet } from "../fleet.ts";
import { readLockIfPresent } from "../lock/lock-file.ts";
import type { Plan } from "../plan/plan.ts";
import type { CommandContext } from "./context.ts";
import { baseLookup, type FleetFlags, lockFileOf, openFleetFor, parseReplacements } from "./fleet-options.ts";

export interface ExportFlags extends FleetFlags {
  readonly kind: string;
  /** Only for `github-matrix`. */
  readonly shards?: number;
  readonly json?: boolean;
}

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

/** The plan of `build --push`. Throws what keeps a base image's digest from being known. */
export async function planForExport(
  flags: ExportFlags,
  { env }: CommandContext,
): Promise<{ readonly fleet: Fleet; readonly plan: Plan }> {
  const { fleet, only } = await openFleetFor(flags);
  const problems: Problem[] = [];
  const plan = await planOpenFleet(fleet, {
    lock: await readLockIfPresent(lockFileOf(flags)),
    only,
    published: true,
    replaceBases: parseReplacements(flags.replaceBase),
    findBaseDigest: await baseLookup(flags, env, (problem) => problems.push(problem)),
  });
  throwProblems(problems);
  return { fleet, plan };
}
