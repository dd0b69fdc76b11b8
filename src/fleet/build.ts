/** Builds the cells that the lock does not have. */

import { type Problem, throwProblems, usageError } from "../errors.ts";
import { inWorld, note, type World } from "../io/world.ts";
import { readLockIfPresent } from "../lock/store/lock-file.ts";
import { updateLock } from "../lock/store/update-lock.ts";
import type { Digest } from "../oci/digest.ts";
import { registryFor, registryToWrite } from "../oci/registry/registry-access.ts";
import { type BuildChoice, splitBuildOptions } from "./build-choice.ts";
import { withImages } from "./engines/built-cell.ts";
import { localEngineOf, requirePush } from "./engines/engine-choice.ts";
import type { HostServices } from "./host-services.ts";
import { fleetAt } from "./open/fleet-choice.ts";
import { type LocalBaseChoice, prepareBuild, planFromLock } from "./open/prepare-build.ts";
import { type PlanJson, planToJson } from "./plan/plan-json.ts";
import type { PlannedCell } from "./plan/planned-cell.ts";
import { thenTellStaying } from "./publish/announcement.ts";
import { takeOverImages, goneNotes, signedImages, withoutGone } from "./publish/carried-images.ts";
import { planIndexConflicts, pushConflicts } from "./publish/index-conflicts.ts";
import type { Judging } from "./publish/seal.ts";
import type { SignatureDemands } from "../oci/trust-flags.ts";
import { publishPlan, tellPublication, unpublished } from "./publish/publication.ts";
import { requireRightToPush, writtenRepositories } from "./publish/written-repositories.ts";
import type { BuildAnswer, FleetBuildEvent } from "./run/build-events.ts";
import type { BuildPorts } from "./run/build-missing.ts";
import { recordDeprecated } from "./run/record-deprecated.ts";
import { runPlan } from "./run/run-plan.ts";

export interface BuildOptions extends BuildChoice, LocalBaseChoice, SignatureDemands {
  /** With `push`: take images of equal inputs over from the signed index of this version. */
  readonly takeOver?: string;
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
 * Builds every cell that is not in the lock, and writes the lock after every cell; `push` pushes every image, `index` writes the version's
 * index. A failed cell is one of the `results`, and the build goes on. An aborted build begins no cell, lets pushes end, and tells in the event
 * `summary` what was built. `dryRun` answers with the plan.
 *
 * Throws `USAGE`, as `plan`, `ENGINE_…`, `INDEX_CONFLICT` before it builds images that the index would refuse, `LOCK_BUSY`,
 * `WRITE_FAILED`.
 *
 * @example
 * const { results } = await build({ push: true });
 */
export interface BuildFunction {
  (
    options: BuildOptions & { readonly dryRun: true },
    world?: Partial<World<FleetBuildEvent>>,
  ): Promise<PlanJson>;
  (options?: Omit<BuildOptions, "dryRun">, world?: Partial<World<FleetBuildEvent>>): Promise<BuildAnswer>;
}

export function buildWith(
  ports: BuildPorts & HostServices & Pick<Judging, "signatureTrustFor">,
): BuildFunction {
  const face = (
    options: BuildOptions = {},
    given?: Partial<World<FleetBuildEvent>>,
  ): Promise<BuildAnswer | PlanJson> => inWorld(options, given, (world) => buildIn(options, world), ports);
  return face as BuildFunction;
}

async function buildIn(
  options: BuildOptions,
  world: World<FleetBuildEvent> & BuildPorts & HostServices & Pick<Judging, "signatureTrustFor">,
): Promise<BuildAnswer | PlanJson> {
  const { push = false, dryRun = false, strict = false, takeOver } = options;
  const { index = false, replaceIndex: replace = false } = options;
  const { place, bases, engine, access, signer, pace } = splitBuildOptions(options);
  if (!push) refuseWithoutPush({ sign: signer.sign, index, replace, takeOver: takeOver !== undefined });
  if (!dryRun) requirePush(engine, push);
  const signFleet = await world.openSigner(signer, world);
  const { fleet, lockFile, only } = await fleetAt(place, world);
  const problems: Problem[] = [];
  const prepared = await prepareBuild(
    fleet,
    {
      ...{ only, lockFile, push, bases, local: engine },
      onProblem: (problem) => {
        problems.push(problem);
        world.onEvent({ type: "problem", problem });
      },
      writes: !dryRun,
      // A dry run needs no engine.
      localEngine: push || dryRun ? null : localEngineOf(engine),
    },
    world,
  );
  const { lock, unresolved } = prepared;
  const mayAsk = push && !(dryRun && bases.offline);
  const mayConflict = mayAsk && !replace;
  const written =
    push && !dryRun ? writtenRepositories(prepared.plan, { index, signs: signFleet !== null }) : [];
  const ask = () => registryFor(access, world, { writes: written });
  const isBuilt = ({ action }: PlannedCell) => action === "build";
  if (prepared.plan.cells.some(isBuilt)) await requireRightToPush(written, ask);
  const tell = (line: string) => note(world, [line]);
  const older = async () => {
    if (takeOver === undefined) return new Map();
    const trust = await world.signatureTrustFor(options, world);
    return signedImages(fleet.matrix, takeOver, trust, { connect: ask, tell });
  };
  const { plan, gone } = mayAsk
    ? await takeOverImages(prepared.plan, { lock, index, ask, older: await older() })
    : { plan: prepared.plan, gone: new Map<string, Digest>() };
  note(world, goneNotes(gone));
  // With the version's index, now or when `publish` is to write it.
  const findConflicts = async () =>
    index ? planIndexConflicts(plan, await ask()) : pushConflicts(plan, ask, tell);
  const conflicts = mayConflict ? await findConflicts() : [];
  if (dryRun) {
    for (const problem of conflicts) world.onEvent({ type: "problem", problem });
    return planToJson(plan, problems);
  }
  // Images that the index will refuse are refused before anything is built and pushed.
  throwProblems(conflicts);
  const registry = await registryToWrite(written, access, world);
  return thenTellStaying(registry, world, async () => {
    const signing = signFleet && (await signFleet(fleet.matrix.repository, registry));
    const means = { engine, access, registry, lockFile, pace };
    const run = { ...means, push, signing, strict, unresolved };
    const { versions } = plan;
    await recordDeprecated(plan, lockFile);
    const summary = await runPlan(plan, fleet, run, world);
    if (push && lock !== null && lock.version !== fleet.matrix.version)
      await updateLock(lockFile, (now) => withImages(now ?? lock, fleet.matrix, {}), { versions });
    const answer = { schemaVersion: 1, ...summary } as const;
    if (!index && signing === null) return { ...answer, ...unpublished };
    // If nothing could be built, the reason is the news, and not that there is no lock.
    const hasFailed = summary.results.some(({ status }) => status === "failed");
    if (hasFailed && (await readLockIfPresent(lockFile)) === null) return { ...answer, ...unpublished };
    world.onEvent({ type: "publish" });
    // The lock has the images now: what it keeps is signed, and its index is written, also where some cells failed.
    const { replaceBase } = bases;
    const { plan: recalled } = await planFromLock(fleet, { only, lockFile, replaceBase, published: true });
    const made = new Set(summary.results.flatMap(({ cell, status }) => (status === "built" ? [cell] : [])));
    const built = withoutGone(
      { ...recalled, versions },
      new Map([...gone].filter(([cell]) => !made.has(cell))),
    );
    if (index) {
      const request = { registry, replace, isPart: only.length > 0, signal: world.signal };
      return { ...answer, ...(await publishPlan(built, lockFile, request, signing, world)) };
    }
    const kept = built.cells.filter(({ action }) => action === "keep");
    await signing?.vouch([...new Set(kept.flatMap(({ locked }) => locked?.digest ?? []))]);
    return { ...answer, ...tellPublication(null, signing, world) };
  });
}

function refuseWithoutPush(
  given: Readonly<Record<"sign" | "index" | "replace" | "takeOver", boolean | undefined>>,
): void {
  if (given.takeOver)
    throw usageError("--take-over needs --push: it names images in the registry", "add --push");
  if (given.sign) throw usageError("--sign needs --push: it signs images in the registry", "add --push");
  if (given.index) throw usageError("--index needs --push: it names images in the registry", "add --push");
  if (given.replace) throw usageError("--replace-index needs --push", "add --push");
}
