/** Builds the cells that the lock does not have. */

import { type Problem, throwProblems, usageError } from "../errors.ts";
import { note, type World, worldOf } from "../io/world.ts";
import { readLockIfPresent } from "../lock/lock-file.ts";
import { registryFor } from "../oci/registry/registry-access.ts";
import type { BuildSummary } from "./engines/built-cell.ts";
import { defaultEngine, requirePush } from "./engines/engine-choice.ts";
import { engineTraits } from "./engines/engine-traits.ts";
import { lockFileOf } from "./open/fleet-choice.ts";
import {
  type LocalBaseChoice,
  type PlannedFleet,
  planChosenFleet,
  planPublished,
} from "./open/plan-chosen-fleet.ts";
import { type PlanJson, planToJson } from "./plan/plan-json.ts";
import type { Plan } from "./plan/planned-cell.ts";
import { planIndexConflicts, pushConflicts } from "./publish/index-conflicts.ts";
import { fleetSignerFor, openSigner } from "./publish/open-signer.ts";
import { type Publication, publishPlan, tellPublication, unpublished } from "./publish/publication.ts";
import type { FleetSigner } from "./publish/sign-fleet.ts";
import { type BuildAnswer, type BuildChoice, type FleetBuildEvent, runPlan } from "./run/run-plan.ts";

export interface BuildOptions extends BuildChoice, LocalBaseChoice {
  /** Without it the images stay in the engine. */
  readonly push?: boolean;
  /** Say what would be built, and stop. */
  readonly dryRun?: boolean;
  /** With `push`: write the index of the version too. */
  readonly index?: boolean;
  /** End with an error, and without an index, where an axis made no difference to the images, or files were compiled for more than their march has. */
  readonly strict?: boolean;
}

/**
 * Builds every cell that is not in the lock, and writes the lock after every cell; `push` pushes every image, `index` writes the version's index.
 * A cell that fails is one of the `results` and does not stop the others. `signal` starts nothing more, and lets pushes end. `dryRun` answers
 * with the plan.
 *
 * Throws `USAGE`, as `plan`, `ENGINE_…`, `INDEX_CONFLICT` before it builds images that the index would refuse, `LOCK_BUSY`,
 * `WRITE_FAILED`.
 *
 * @example
 * const { results } = await build({ push: true });
 */
export async function build(
  options: BuildOptions & { readonly dryRun: true },
  world?: Partial<World<FleetBuildEvent>>,
): Promise<PlanJson>;
export async function build(
  options?: Omit<BuildOptions, "dryRun">,
  world?: Partial<World<FleetBuildEvent>>,
): Promise<BuildAnswer>;
export async function build(
  options: BuildOptions = {},
  given?: Partial<World<FleetBuildEvent>>,
): Promise<BuildAnswer | PlanJson> {
  const { push = false, dryRun = false, strict = false, engine = defaultEngine } = options;
  const world = worldOf(options, given);
  checkOptions(options);
  const signer = await openSigner(options, world);
  const problems: Problem[] = [];
  const planned = await planChosenFleet(options, world, {
    onProblem: (problem) => {
      problems.push(problem);
      world.onEvent({ type: "problem", problem });
    },
    writes: !dryRun,
    // A dry run needs no engine.
    keeper: push || dryRun ? null : engineTraits[engine].keeper,
  });
  const { fleet, plan } = planned;
  const conflicts = await findConflicts(plan, options, world);
  if (dryRun) {
    for (const problem of conflicts) world.onEvent({ type: "problem", problem });
    return planToJson(plan, problems);
  }
  // Images that the index will refuse are refused before anything is built and pushed.
  throwProblems(conflicts);
  // Without the signal: an interruption waits until what has been pushed is signed.
  const registry = signer && (await registryFor(options, { env: world.env }));
  const signing =
    registry && (await fleetSignerFor(signer, fleet.matrix.repository, registry, options, world));
  const summary = await runPlan(plan, fleet, options, world, { push, signing, strict });
  return { schemaVersion: 1, ...summary, ...(await publishBuilt(summary, planned, signing, options, world)) };
}

function checkOptions(options: BuildOptions): void {
  const { push = false, index, replaceIndex, sign, dryRun } = options;
  if (sign && !push) throw usageError("--sign needs --push: it signs images in the registry", "add --push");
  if (index && !push) {
    throw usageError("--index needs --push: it names images in the registry", "add --push");
  }
  if (replaceIndex && !push) throw usageError("--replace-index needs --push", "add --push");
  if (!dryRun) requirePush(options, push);
}

/** Conflicts with the version's index, now or when `publish` is to write it. */
async function findConflicts(
  plan: Plan,
  options: BuildOptions,
  world: World<FleetBuildEvent>,
): Promise<readonly Problem[]> {
  const { push, index, replaceIndex, dryRun, offline } = options;
  if (!push || replaceIndex || (dryRun && offline)) return [];
  const connect = () => registryFor(options, world);
  return index
    ? planIndexConflicts(plan, await connect())
    : pushConflicts(plan, connect, (line) => note(world, [line]));
}

/** Signs what is published now, and writes its index, also where some cells failed. */
async function publishBuilt(
  { interrupted, results }: BuildSummary,
  { fleet, only }: PlannedFleet,
  signing: FleetSigner | null,
  options: BuildOptions,
  world: World<FleetBuildEvent>,
): Promise<Publication> {
  if (interrupted || (!options.index && signing === null)) return unpublished;
  // If nothing could be built, the reason is the news, and not that there is no lock.
  const hasFailed = results.some(({ status }) => status === "failed");
  if (hasFailed && (await readLockIfPresent(lockFileOf(options))) === null) return unpublished;
  world.onEvent({ type: "publish" });
  const plan = await planPublished(fleet, only, options);
  if (!options.index) {
    const kept = plan.cells.filter(({ action }) => action === "keep");
    await signing?.vouch([...new Set(kept.flatMap(({ locked }) => locked?.digest ?? []))]);
    return tellPublication(null, signing, world);
  }
  // Without the signal: an interruption waits until what is announced is taken back.
  const registry = await registryFor(options, { env: world.env });
  const { replaceIndex: replace = false } = options;
  return publishPlan(plan, lockFileOf(options), { registry, replace, signal: world.signal }, signing, world);
}
