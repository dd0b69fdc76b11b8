/** Pushes images that were built and not pushed, then writes the version's index. */

import { throwProblems } from "../errors.ts";
import { inWorld, type World } from "../io/world.ts";
import { isAdopted } from "../lock/adopted-lock.ts";
import { readLockIfPresent } from "../lock/lock-file.ts";
import { forPush, registryFor } from "../oci/registry/registry-access.ts";
import { selectImages } from "./cells/select.ts";
import { fleetAt, lockFileOf } from "./open/fleet-choice.ts";
import { recallBuilt } from "./open/prepare-build.ts";
import type { PlannedCell } from "./plan/planned-cell.ts";
import { planIndexConflicts } from "./publish/index-conflicts.ts";
import { openSigner } from "./publish/open-signer.ts";
import { publishPlan, tellPublication } from "./publish/publication.ts";
import { publishAdopted } from "./publish/publish-plan-index.ts";
import { type BuildAnswer, type BuildChoice, type FleetBuildEvent, runPlan } from "./run/run-plan.ts";

export type PublishOptions = Omit<BuildChoice, "cache">;

const nothingBuilt = { schemaVersion: 1, results: [], kept: 0 } as const;

/**
 * Pushes images that were built and not pushed, and writes one image index for the version. An image that the engine has lost is built again;
 * nothing else is built. `results` has the images pushed now, `index.missing` the cells that are not published.
 *
 * Throws as `build`, and `SELECTION_EMPTY` if no image is published.
 *
 * @example
 * const { index } = await publish();
 */
export async function publish(
  options: PublishOptions = {},
  given?: Partial<World<FleetBuildEvent>>,
): Promise<BuildAnswer> {
  return inWorld(options, given, (world) => publishIn(options, world));
}

async function publishIn(options: PublishOptions, world: World<FleetBuildEvent>): Promise<BuildAnswer> {
  const { replaceIndex: replace = false, replaceBase, concurrency } = options;
  const { signal } = world;
  const signFleet = await openSigner(options, world);
  const lock = await readLockIfPresent(lockFileOf(options));
  // Without the signal: an interruption waits until what is announced is taken back.
  const registry = await registryFor(options, { env: world.env }, forPush);
  if (lock !== null && isAdopted(lock)) {
    world.onEvent({ type: "publish" });
    const signing = signFleet && (await signFleet(lock.repository, registry));
    const { only = [] } = options;
    const request = { registry, replace, isPart: only.length > 0, vouching: signing ?? undefined, signal };
    const written = await publishAdopted(selectImages(lock, only), request);
    return { ...nothingBuilt, ...tellPublication(written, signing, world) };
  }
  const { fleet, lockFile, only } = await fleetAt(options, world);
  const signing = signFleet && (await signFleet(fleet.matrix.repository, registry));
  const recall = async () =>
    (await recallBuilt(fleet, { only, lockFile, replaceBase, published: true })).plan;
  const before = await recall();
  if (!replace) throwProblems(await planIndexConflicts(before, await registryFor(options, world)));
  const waiting = before.cells.filter(isUnpushed);
  const unpushed = { ...before, cells: waiting, retired: [] };
  const run = { engine: options, access: options, lockFile, concurrency, push: true, signing, strict: false };
  const pushed = waiting.length === 0 ? null : await runPlan(unpushed, fleet, run, world);
  const answer = { ...nothingBuilt, ...pushed };
  const plan = pushed === null ? before : await recall();
  const hasFailed = answer.results.some(({ status }) => status === "failed");
  // If nothing could be pushed, the reason is the news, and not that there is nothing.
  if (hasFailed && !plan.cells.some(({ action }) => action === "keep"))
    return { ...answer, ...tellPublication(null, signing, world) };
  world.onEvent({ type: "publish" });
  const means = { registry, replace, isPart: only.length > 0, signal };
  return { ...answer, ...(await publishPlan(plan, lockFile, means, signing, world)) };
}

/** In the engine and not in the registry. */
function isUnpushed({ action, locked, inputDigest }: PlannedCell): boolean {
  return Boolean(
    action === "build" && locked?.created && locked.digest === null && locked.inputDigest === inputDigest,
  );
}
