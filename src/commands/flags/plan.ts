/** The fleet of a command with its plan, as its flags ask for it. */

import { type Problem, throwProblems } from "../../errors.ts";
import type { Fleet } from "../../fleet/open-fleet.ts";
import { type FindBaseDigest, type FleetPlanOptions, planOpenFleet } from "../../fleet/plan-open-fleet.ts";
import { refuseAdoptedLock } from "../../lock/adopted-lock.ts";
import { refuseForeignLock } from "../../lock/foreign-lock.ts";
import type { LocalEngine, Lock } from "../../lock/lock.ts";
import { readLockIfPresent } from "../../lock/lock-file.ts";
import { findPlanned, type Plan } from "../../plan/planned-cell.ts";
import type { Selection } from "../../plan/select.ts";
import type { CommandContext } from "../context.ts";
import { baseLookup, type FleetFlags, lockFileOf, openFleetFor, parseReplacements } from "./fleet.ts";

export interface ExportFlags extends FleetFlags {
  readonly kind: string;
  /** Only for `github-matrix`. */
  readonly shards?: number;
  /** Only for `bake`. */
  readonly secret?: readonly string[];
}

export interface PlannedFleet {
  readonly fleet: Fleet;
  readonly only: readonly Selection[];
  readonly plan: Plan;
  readonly findBaseDigest: FindBaseDigest;
}

export interface PlanForOptions {
  /** Hears what keeps a base image's digest from being known. */
  readonly onProblem: (problem: Problem) => void;
  /** The lock is to be written: throws where it is of another repository. */
  readonly writes?: boolean;
  /** What is to keep the images where they are not pushed: it is asked which of them it has. */
  readonly keeper?: LocalEngine | null;
  /** The one cell that is asked about: no registry is asked about others. */
  readonly cell?: string | undefined;
}

/** Throws what opening and planning a fleet throw. */
export async function planFor(
  flags: FleetFlags & { readonly push?: boolean },
  context: CommandContext,
  { onProblem, writes = false, keeper = null, cell }: PlanForOptions,
): Promise<PlannedFleet> {
  const opened = await openFleetFor(flags, context);
  const { fleet } = opened;
  const only = cell === undefined ? opened.only : [{ cell: findPlanned(fleet, cell).cell.id }];
  const lock = await readLockIfPresent(lockFileOf(flags));
  refuseAdoptedLock(lock, lockFileOf(flags));
  if (writes) refuseForeignLock(lock, fleet.matrix.repository, lockFileOf(flags));
  const findBaseDigest = await baseLookup(flags, context, onProblem);
  const plan = await planOpenFleet(fleet, {
    lock,
    only,
    published: flags.push ?? false,
    ...(await heldBy(keeper, lock, context)),
    replaceBases: parseReplacements(flags.replaceBase),
    rebuild: rebuildAsked(flags.cache),
    findBaseDigest,
  });
  return { fleet, only, plan, findBaseDigest };
}

/** `--no-cache` alone means now: each time is another. */
function rebuildAsked(cache: FleetFlags["cache"]): string | undefined {
  if (typeof cache === "string") return cache;
  return cache === false ? new Date().toISOString().replace(/\.\d+Z$/, "Z") : undefined;
}

/** Asked only where the lock has something that was built and not pushed: a build with nothing to do needs no engine. */
async function heldBy(
  keeper: LocalEngine | null,
  lock: Lock | null,
  { env }: CommandContext,
): Promise<Pick<FleetPlanOptions, "held">> {
  const waiting = Object.values(lock?.images ?? {}).some(
    ({ digest, created }) => digest === null && created !== null,
  );
  if (keeper === null || !waiting) return {};
  const { heldImages } = await import("../../build/engines/held-images.ts");
  return { held: await heldImages(keeper, env) };
}

/** The plan of `build --push`. Throws what keeps a base image's digest from being known. */
export async function planForExport(flags: FleetFlags, context: CommandContext): Promise<PlannedFleet> {
  const problems: Problem[] = [];
  const onProblem = (problem: Problem) => problems.push(problem);
  const planned = await planFor({ ...flags, push: true }, context, { onProblem });
  throwProblems(problems);
  return planned;
}
