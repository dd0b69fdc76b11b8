/** Changes a lock without a build: moves bases, removes images, merges locks. */

import { statSync } from "node:fs";
import { type Problem, throwProblems, usageError } from "../errors.ts";
import { inWorld, type Watching, type World } from "../io/world.ts";
import { isAdopted, namesOf, refuseAdoptedLock, refuseForeignLock } from "../lock/adopted-lock.ts";
import type { Lock } from "../lock/lock.ts";
import { readLock, readLockIfPresent } from "../lock/store/lock-file.ts";
import { mergedBranches } from "../lock/merge-branches.ts";
import { mergedLock } from "../lock/merge-locks.ts";
import { updateLock } from "../lock/store/update-lock.ts";
import type { Digest } from "../oci/digest.ts";
import type { HostServices } from "./host-services.ts";
import { baseLookup, fleetAt, type FleetChoice, lockFileOf, parseReplacements } from "./open/fleet-choice.ts";
import { type BaseUpdate, baseUpdates, movableBases, withUpdatedBases } from "./plan/registry-view.ts";
import { planFleet } from "./open/plan-fleet.ts";

export type ChangeLockOptions = Omit<FleetChoice, "cache"> & Watching;

export interface UpdateBasesAnswer {
  readonly schemaVersion: 1;
  /** How many references were asked for. */
  readonly checked: number;
  readonly updates: readonly BaseUpdate[];
}

/**
 * Lets the next build use the present digests of the base images' tags. Throws every failure to read such a digest, `LOCK_…`
 * for a missing lock or one of another repository, and mistakes of the matrix.
 *
 * @example
 * const { updates } = await updateBases();
 */
export type UpdateBasesFunction = (
  asked?: ChangeLockOptions,
  given?: Partial<World>,
) => Promise<UpdateBasesAnswer>;

export function updateBasesWith(ports: HostServices): UpdateBasesFunction {
  return (asked = {}, given) => inWorld(asked, given, (world) => updateBasesIn(asked, world), ports);
}

async function updateBasesIn(
  asked: ChangeLockOptions,
  world: World & HostServices,
): Promise<UpdateBasesAnswer> {
  if (asked.offline)
    throw usageError("--update-bases asks registries, and --offline forbids it", "leave --offline out");
  const { fleet, lockFile: file, only } = await fleetAt(asked, world);
  const { repository } = fleet.matrix;
  const lock = await readOwnLock(file, repository);
  const problems: Problem[] = [];
  const { findBaseDigest } = await baseLookup(asked, world, (problem) => problems.push(problem));
  const replaceBases = parseReplacements(asked.replaceBase);
  const { cells } = await planFleet(fleet, { only, replaceBases, findBaseDigest, lock });
  const locked = cells.filter((planned) => planned.locked !== null);
  const refs = movableBases({ cells: locked });
  const found = await Promise.all(refs.map(async (ref) => [ref, await findBaseDigest(ref)] as const));
  // Some bases updated and others not would be neither the old state nor the new one.
  throwProblems(problems);
  const current = new Map(found.filter((pair): pair is [string, Digest] => pair[1] !== null));
  const updates = baseUpdates(locked, current);
  if (updates.length > 0)
    await updateLock(file, (now) => withUpdatedBases(now ?? lock, locked, current), { repository });
  return { schemaVersion: 1, checked: refs.length, updates };
}

export interface RemovedImages {
  readonly schemaVersion: 1;
  /** Their cells, sorted. */
  readonly removed: readonly string[];
}

/**
 * Removes images from the lock whose cells the matrix lacks, excludes or makes impossible. The registry keeps them. Throws `USAGE`, `LOCK_…`
 * for a missing lock or one of another repository, and mistakes of the matrix.
 *
 * @example
 * const { removed } = await pruneLock();
 */
export type PruneLockFunction = (asked?: ChangeLockOptions, given?: Partial<World>) => Promise<RemovedImages>;

export function pruneLockWith(ports: HostServices): PruneLockFunction {
  return (asked = {}, given) => inWorld(asked, given, (world) => pruneLockIn(asked, world), ports);
}

async function pruneLockIn(asked: ChangeLockOptions, world: World & HostServices): Promise<RemovedImages> {
  const { fleet, lockFile: file, only } = await fleetAt(asked, world);
  if (only.length > 0)
    throw usageError("--prune looks at the whole lock, --only at some cells", "leave --only out");
  const { repository } = fleet.matrix;
  const lock = await readOwnLock(file, repository);
  const buildable = new Set(fleet.cells.filter(({ skipped }) => skipped === null).map(({ cell }) => cell.id));
  const retired = (images: Lock["images"]) => Object.keys(images).filter((cell) => !buildable.has(cell));
  const removed = retired(lock.images).sort();
  if (removed.length > 0) {
    const prune = (now: Lock) => withoutImages(now, retired(now.images), file);
    await updateLock(file, (now) => prune(now ?? lock), { repository });
  }
  return { schemaVersion: 1, removed };
}

/** Throws `LOCK_…` for one that the matrix does not make. */
async function readOwnLock(file: string, repository: string): Promise<Lock> {
  const lock = await readLock(file);
  refuseAdoptedLock(lock, file);
  refuseForeignLock(lock, repository, file);
  return lock;
}

export interface MergeLocksOptions extends Pick<FleetChoice, "matrix" | "lock"> {
  /** Files of the locks of builds that ran side by side. */
  readonly locks: readonly [string, ...string[]];
  /** The lock that they all began with. Default: the fleet's own. */
  readonly base?: string;
  /** The locks are of two branches: what one of them removed is removed. */
  readonly branches?: boolean;
  /** The file of the result. Default: the fleet's lock. */
  readonly out?: string;
}

export interface MergeLocksAnswer {
  readonly schemaVersion: 1;
  readonly out: string;
  readonly locks: readonly string[];
  /** How many images the result has. */
  readonly images: number;
}

/**
 * Joins the locks of builds that ran side by side. Throws `LOCK_MERGE_CONFLICT` for different repositories, fleets or versions, for two
 * digests of one cell, for what two branches changed in different ways, and for built images beside adopted ones; and errors of reading and writing.
 *
 * @example
 * await mergeLocks({ locks: ["one/imgmatch.lock.json", "two/imgmatch.lock.json"] });
 */
export type MergeLocksFunction = (options: MergeLocksOptions) => Promise<MergeLocksAnswer>;

export async function mergeLocks(asked: MergeLocksOptions): Promise<MergeLocksAnswer> {
  const home = lockFileOf(asked);
  const { locks, base, branches = false, out = home } = asked;
  if (branches && (base === undefined || locks.length !== 2))
    throw usageError(
      "--branches joins two locks by the lock that both branches began with",
      "write imgmatch lock merge --branches --base %O --out %A %A %B, as docs/lock.md has it for git",
    );
  // Where the branches began without a lock, git hands an empty file over.
  const named = base === undefined || (branches && isEmpty(base)) ? null : await readLock(base);
  const readNamed = async (file: string) => ({ file, lock: await readLock(file) });
  const [first, ...rest] = locks;
  const [one, others] = await Promise.all([readNamed(first), Promise.all(rest.map(readNamed))]);
  const [two = one] = others;
  const merge = (before: Lock | null) =>
    branches ? mergedBranches([one, two], before) : mergedLock([one, ...others], before);
  const before = branches ? named : (named ?? (await readLockIfPresent(home)));
  const { repository } = merge(before);
  // A build beside this may have written it since.
  const isLive = base === undefined && out === home;
  const { images } = await updateLock(out, (now) => merge(isLive ? now : before), { repository });
  return { schemaVersion: 1, out, locks, images: Object.keys(images).length };
}

function isEmpty(file: string): boolean {
  return statSync(file, { throwIfNoEntry: false })?.size === 0;
}

export interface RemoveFromLockOptions extends Pick<FleetChoice, "matrix" | "lock"> {
  /** Their ids. */
  readonly cells: readonly string[];
}

export interface RemoveFromLockAnswer extends RemovedImages {
  /** Others built the images. */
  readonly adopted: boolean;
  /** How many images are still there. */
  readonly kept: number;
}

/**
 * Removes images from the lock. The next build makes them again, if the matrix has their cells. The registry keeps them. Throws `LOCK_…`, and
 * `CELL_NOT_FOUND` for every cell that the lock lacks; then it removes nothing.
 *
 * @example
 * await removeFromLock({ cells: ["12.8.1_9.0a_sapphirerapids"] });
 */
export type RemoveFromLockFunction = (options: RemoveFromLockOptions) => Promise<RemoveFromLockAnswer>;

export async function removeFromLock(asked: RemoveFromLockOptions): Promise<RemoveFromLockAnswer> {
  const file = lockFileOf(asked);
  const before = await readLock(file);
  const { images } = await updateLock(file, (now) => withoutImages(now ?? before, asked.cells, file));
  const removed = [...new Set(asked.cells)].sort();
  return { schemaVersion: 1, removed, adopted: isAdopted(before), kept: Object.keys(images).length };
}

/** Throws `CELL_NOT_FOUND` with every cell that the lock does not have. */
export function withoutImages(lock: Lock, cells: readonly string[], file: string): Lock {
  const unknown = [...new Set(cells)].filter((cell) => !Object.hasOwn(lock.images, cell));
  throwProblems(
    unknown.map(
      (cell): Problem => ({
        code: "CELL_NOT_FOUND",
        message: `the lock has no cell ${JSON.stringify(cell)}`,
        fix: isAdopted(lock)
          ? namesOf(lock)
          : "imgmatch plan lists the cells; what the lock does not have is built anyway",
        at: { file },
      }),
    ),
  );
  const kept = Object.entries(lock.images).filter(([cell]) => !cells.includes(cell));
  return { ...lock, images: Object.fromEntries(kept) };
}
