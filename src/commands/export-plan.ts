/** What the commands that hand a fleet to another tool have in common. */

import { type Problem, throwProblems } from "../errors.ts";
import type { Fleet } from "../fleet/open-fleet.ts";
import { planOpenFleet } from "../fleet/plan-open-fleet.ts";
import { readLockIfPresent } from "../lock/lock-file.ts";
import type { Plan } from "../plan/planned-cell.ts";
import type { CommandContext } from "./context.ts";
import { baseLookup, type FleetFlags, lockFileOf, openFleetFor, parseReplacements } from "./fleet-options.ts";

export interface ExportFlags extends FleetFlags {
  readonly kind: string;
  /** Only for `github-matrix`. */
  readonly shards?: number;
  /** Only for `bake`. */
  readonly secret?: readonly string[];
  readonly json?: boolean;
}

/** The plan of `build --push`. Throws what keeps a base image's digest from being known. */
export async function planForExport(
  flags: FleetFlags,
  context: CommandContext,
): Promise<{ readonly fleet: Fleet; readonly plan: Plan }> {
  const { fleet, only } = await openFleetFor(flags);
  const problems: Problem[] = [];
  const plan = await planOpenFleet(fleet, {
    lock: await readLockIfPresent(lockFileOf(flags)),
    only,
    published: true,
    replaceBases: parseReplacements(flags.replaceBase),
    findBaseDigest: await baseLookup(flags, context, (problem) => problems.push(problem)),
  });
  throwProblems(problems);
  return { fleet, plan };
}
