/** Pushes images that were built and not pushed, then writes the version's index. */

import { throwProblems } from "../errors.ts";
import { inWorld, type World } from "../io/world.ts";
import { isAdopted } from "../lock/adopted-lock.ts";
import { readLockIfPresent } from "../lock/store/lock-file.ts";
import { registryFor, registryToWrite } from "../oci/registry/registry-access.ts";
import { type BuildChoice, splitBuildOptions } from "./build-choice.ts";
import { selectImages } from "./cells/select.ts";
import { fleetAt, lockFileOf } from "./open/fleet-choice.ts";
import { planFromLock } from "./open/prepare-build.ts";
import type { PlannedCell } from "./plan/planned-cell.ts";
import { thenTellStaying } from "./publish/announcement.ts";
import { planIndexConflicts } from "./publish/index-conflicts.ts";
import { publishPlan, tellPublication } from "./publish/publication.ts";
import { publishAdopted } from "./publish/publish-plan-index.ts";
import { requireRightToPush, writtenRepositories } from "./publish/written-repositories.ts";
import type { BuildAnswer, FleetBuildEvent } from "./run/build-events.ts";
import type { HostServices } from "./host-services.ts";
import type { BuildPorts } from "./run/build-missing.ts";
import { recordDeprecated } from "./run/record-deprecated.ts";
import { runPlan } from "./run/run-plan.ts";

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
export type PublishFunction = (
  options?: PublishOptions,
  world?: Partial<World<FleetBuildEvent>>,
) => Promise<BuildAnswer>;

export function publishWith(ports: BuildPorts & HostServices): PublishFunction {
  return (options = {}, given) => inWorld(options, given, (world) => publishIn(options, world), ports);
}

async function publishIn(
  options: PublishOptions,
  world: World<FleetBuildEvent> & BuildPorts & HostServices,
): Promise<BuildAnswer> {
  const { replaceIndex: replace = false } = options;
  const { place, bases, engine, access, signer, pace } = splitBuildOptions(options);
  const { signal } = world;
  const signFleet = await world.openSigner(signer, world);
  const lock = await readLockIfPresent(lockFileOf(place));
  if (lock !== null && isAdopted(lock)) {
    const registry = await registryToWrite([lock.repository], access, world);
    world.onEvent({ type: "publish" });
    const signing = signFleet && (await signFleet(lock.repository, registry));
    const { only = [] } = place;
    const request = { registry, replace, isPart: only.length > 0, vouching: signing ?? undefined, signal };
    const publishing = () => publishAdopted(selectImages(lock, only), request);
    const written = await thenTellStaying(registry, world, publishing);
    return { ...nothingBuilt, ...tellPublication(written, signing, world) };
  }
  const { fleet, lockFile, only } = await fleetAt(place, world);
  const { replaceBase } = bases;
  const recall = async () =>
    (await planFromLock(fleet, { only, lockFile, replaceBase, published: true })).plan;
  const recalled = await recall();
  const before = (await recordDeprecated(recalled, lockFile)) ? await recall() : recalled;
  const unpushed = { ...before, cells: before.cells.filter(isUnpushed), retired: [] };
  const waiting = unpushed.cells;
  const writes = writtenRepositories(unpushed, { index: true, signs: false });
  const ask = () => registryFor(access, world, { writes });
  if (waiting.length > 0) await requireRightToPush(writes, ask);
  if (!replace) throwProblems(await planIndexConflicts(before, await ask()));
  const registry = await registryToWrite(writes, access, world);
  return thenTellStaying(registry, world, async () => {
    const signing = signFleet && (await signFleet(fleet.matrix.repository, registry));
    const means = { engine, access, registry, lockFile, pace };
    const run = { ...means, push: true, signing, strict: false };
    const pushed = waiting.length === 0 ? null : await runPlan(unpushed, fleet, run, world);
    const answer = { ...nothingBuilt, ...pushed };
    const plan = pushed === null ? before : { ...(await recall()), versions: recalled.versions };
    const hasFailed = answer.results.some(({ status }) => status === "failed");
    // If nothing could be pushed, the reason is the news, and not that there is nothing.
    if (hasFailed && !plan.cells.some(({ action }) => action === "keep"))
      return { ...answer, ...tellPublication(null, signing, world) };
    world.onEvent({ type: "publish" });
    const request = { registry, replace, isPart: only.length > 0, signal };
    return { ...answer, ...(await publishPlan(plan, lockFile, request, signing, world)) };
  });
}

/** In the engine and not in the registry. */
function isUnpushed({ action, locked, inputDigest }: PlannedCell): boolean {
  return Boolean(
    action === "build" && locked?.created && locked.digest === null && locked.inputDigest === inputDigest,
  );
}
