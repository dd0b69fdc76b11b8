/** Builds the cells that the lock does not have; writes the lock after every cell. */

import { type Problem, throwProblems, usageError } from "../errors.ts";
import { readRevision } from "../io/git.ts";
import { note, type World, worldOf } from "../io/world.ts";
import { readLockIfPresent } from "../lock/lock-file.ts";
import { registryFor } from "../oci/registry/registry-access.ts";
import { defaultEngine, requirePush } from "./build/engines/engine-choice.ts";
import { engineTraits } from "./build/engines/engine-traits.ts";
import type { BuildSummary, StackPreview } from "./build/fleet-builder.ts";
import { lockFileOf } from "./open/fleet-choice.ts";
import {
  type LocalBaseChoice,
  type PlannedFleet,
  planChosenFleet,
  planPublished,
} from "./open/plan-chosen-fleet.ts";
import { type PlanJson, planToJson } from "./plan/plan-json.ts";
import type { Plan } from "./plan/planned-cell.ts";
import { type Publication, publishPlan, tellPublication, unpublished } from "./publication.ts";
import { planIndexConflicts, pushConflicts } from "./publish/index-conflicts.ts";
import { registryPublisher } from "./publish/publish-image.ts";
import {
  type BuildAnswer,
  type BuildChoice,
  type BuilderFor,
  buildsAtOnce,
  type FleetBuildEvent,
  runBuild,
} from "./run-build.ts";
import type { FleetSigner } from "./sign-fleet.ts";
import { openSigner, fleetSignerFor } from "./open-signer.ts";

export interface BuildOptions extends BuildChoice, LocalBaseChoice {
  /** Without it the images stay in the engine. */
  readonly push?: boolean;
  /** Say what would be built, and stop. */
  readonly dryRun?: boolean;
  /** With `push`: write the index of the version too. */
  readonly index?: boolean;
  /** End with an error, and without an index, where an axis made no difference to the images. */
  readonly strict?: boolean;
}

/** The plan, and what would change in the state of a builder that keeps one. */
export interface BuildPreview extends PlanJson {
  readonly stacks?: readonly StackPreview[];
}

/** The function `build` of the command of that name, with what makes its builder. */
export async function buildWith(
  builderFor: BuilderFor,
  options: BuildOptions,
  given?: Partial<World<FleetBuildEvent>>,
): Promise<BuildAnswer | BuildPreview> {
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
    const stacks = await previewStacks(planned, builderFor, options, world);
    for (const problem of conflicts) world.onEvent({ type: "problem", problem });
    return { ...planToJson(plan, problems), ...(stacks === null ? {} : { stacks }) };
  }
  // Images that the index will refuse are refused before anything is built and pushed.
  throwProblems(conflicts);
  const signing =
    signer === null
      ? null
      : // Not ended by an interruption: what has been pushed is signed.
        await fleetSignerFor(
          signer,
          fleet.matrix.repository,
          await registryFor(options, { env: world.env }),
          options,
          world,
        );
  const summary = await runBuild(plan, options, world, { fleet, push, builderFor, signer, signing, strict });
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

/** null for engines that keep no state to compare with: they need not be there for a dry run. */
async function previewStacks(
  { plan, fleet }: PlannedFleet,
  builderFor: BuilderFor,
  options: BuildOptions,
  { env }: Pick<World, "env">,
): Promise<readonly StackPreview[] | null> {
  const { engine = defaultEngine, push = false, concurrency = buildsAtOnce() } = options;
  if (!engineTraits[engine].stacks) return null;
  const builder = await builderFor(options, { env });
  const publisher = push ? registryPublisher(await registryFor(options, { env })) : null;
  return builder.preview(plan, fleet, {
    publisher,
    revision: await readRevision(fleet.root, env),
    concurrency,
  });
}

/** Signs, and writes the index of, what is published now, also where some cells failed. */
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
  // Not ended by an interruption: what is announced must be taken back.
  const registry = await registryFor(options, { env: world.env });
  const { replaceIndex: replace = false } = options;
  return publishPlan(plan, lockFileOf(options), { registry, replace, signal: world.signal }, signing, world);
}
