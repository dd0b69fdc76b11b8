/** Prepares the plan of a build, or of images that were built: reads the lock, and asks registries and engines for bases. */

import { groupBy } from "../../io/collections.ts";
import type { EngineName } from "../engines/engine-traits.ts";
import type { UnresolvedBases } from "../engines/jobs.ts";
import { type Problem, throwProblems } from "../../errors.ts";
import { linesToHide } from "../context/cell-context.ts";
import type { Fleet } from "./open-fleet.ts";
import type { FindBaseDigest, FindLocalBase } from "./find-bases.ts";
import { type FleetPlanOptions, planFleet } from "./plan-fleet.ts";
import { refuseAdoptedLock, refuseForeignLock } from "../../lock/adopted-lock.ts";
import type { LocalEngine, Lock } from "../../lock/lock.ts";
import { readLock, readLockIfPresent } from "../../lock/store/lock-file.ts";
import { parentLocks } from "./parent-images.ts";
import { type LocalBaseUse, localBases } from "../plan/local-bases.ts";
import type { Plan } from "../plan/planned-cell.ts";
import type { Selection } from "../cells/select.ts";
import { note, type World } from "../../io/world.ts";
import { type BaseChoice, baseLookup, parseReplacements } from "./fleet-choice.ts";

/** Options of commands that can build on images of an engine. */
export interface LocalBaseChoice {
  /** The engine may have bases that no registry has. */
  readonly localBases?: boolean;
  readonly engine?: EngineName;
  readonly builder?: string;
}

export interface BuildQuestion {
  readonly only: readonly Selection[];
  readonly lockFile: string;
  readonly bases: BaseChoice;
  /** Default: only images that a registry has are bases. */
  readonly local?: LocalBaseChoice;
  /** The plan of `build --push`. */
  readonly push: boolean;
  /** Gets the reason if the digest of a base is not found. Default: all such reasons are thrown. */
  readonly onProblem?: (problem: Problem) => void;
  /** The lock will be written: a lock of another repository is refused. */
  readonly writes?: boolean;
  /** The engine that keeps images that are not pushed. The engine is asked for the images it has. */
  readonly localEngine?: LocalEngine | null;
  readonly contextChanges?: FleetPlanOptions["contextChanges"];
}

export interface PreparedBuild {
  readonly plan: Plan;
  /** What the plan was compared with. */
  readonly lock: Lock | null;
  readonly findBaseDigest: FindBaseDigest;
  readonly unresolved: UnresolvedBases;
}

/** Plans the next build of an open fleet, by the lock and what registries say of the bases. */
export async function prepareBuild(
  fleet: Fleet,
  question: BuildQuestion,
  world: World,
): Promise<PreparedBuild> {
  const { only, lockFile, bases, local = {}, push, onProblem, contextChanges } = question;
  const { writes = false, localEngine = null } = question;
  const problems: Problem[] = [];
  const tell = onProblem ?? ((problem: Problem) => problems.push(problem));
  const lock = await readLockIfPresent(lockFile);
  refuseAdoptedLock(lock, lockFile);
  if (writes) refuseForeignLock(lock, fleet.matrix.repository, lockFile);
  // Problems wait until the plan is there: a base that the engine has is none.
  const waiting = new Map<string, Problem>();
  let isPlanned = false;
  const { findBaseDigest, readBase } = await baseLookup(bases, world, (problem, ref) =>
    isPlanned ? tell(problem) : waiting.set(ref, problem),
  );
  const { localBases: takesLocal = false } = local;
  const plan = await planFleet(fleet, {
    lock,
    only,
    published: push,
    held: await heldBy(localEngine, fleet, lock, world),
    replaceBases: parseReplacements(bases.replaceBase),
    rebuild: rebuildAsked(bases.cache),
    contextChanges,
    findBaseDigest,
    readBase,
    ...(takesLocal ? { findLocalBase: await localLookup(local, world) } : {}),
  });
  isPlanned = true;
  const unresolved = unresolvedBases(plan, fleet, waiting, takesLocal);
  for (const problem of unresolved.values()) tell(problem);
  note(world, strayNotes(plan, fleet));
  if (takesLocal) note(world, localBases(plan).map(describeLocal));
  throwProblems(problems);
  return { plan, lock, findBaseDigest, unresolved };
}

export interface BuiltQuestion {
  readonly only: readonly Selection[];
  readonly lockFile: string;
  readonly replaceBase: readonly string[] | undefined;
  /** To publish the images. */
  readonly published: boolean;
}

/** Plans with the images that the lock has. Asks no registry: images that were built have their bases in the lock. */
export async function recallBuilt(
  fleet: Fleet,
  { only, lockFile, replaceBase, published }: BuiltQuestion,
): Promise<{ readonly lock: Lock; readonly plan: Plan }> {
  const lock = await readLock(lockFile);
  refuseAdoptedLock(lock, lockFile);
  const plan = await planFleet(fleet, {
    ...{ lock, only, published, asBuilt: published },
    replaceBases: parseReplacements(replaceBase),
  });
  return { lock, plan };
}

/** `--no-cache` without a word means the present time. */
function rebuildAsked(cache: BaseChoice["cache"]): string | undefined {
  if (typeof cache === "string") return cache;
  return cache === false ? new Date().toISOString().replace(/\.\d+Z$/, "Z") : undefined;
}

const toHaveLocal = "or build with --local-bases, where the engine here has the image";

/** The problems of bases that the plan needs, each with its place in the first Dockerfile with the base. */
function unresolvedBases(
  { cells }: Plan,
  { dockerfileOf }: Fleet,
  problemsByBase: UnresolvedBases,
  takesLocal: boolean,
): UnresolvedBases {
  const found = new Map<string, Problem>();
  for (const { cell, bases } of cells) {
    for (const { ref, used, digest } of bases) {
      const told = problemsByBase.get(used);
      if (digest !== null || told === undefined || found.has(used)) continue;
      const problem = takesLocal ? told : { ...told, fix: `${told.fix}; ${toHaveLocal}` };
      const { bases: named, basesIn: file } = dockerfileOf(cell);
      const line = named.find((base) => base.ref === ref)?.line;
      found.set(used, line === undefined ? problem : { ...problem, at: { file, line } });
    }
  }
  return found;
}

/** Warns of files that tools leave in the build context, for cells that will be built. */
function strayNotes({ cells }: Plan, { folderOf }: Fleet): readonly string[] {
  const building = cells.flatMap(({ cell, action, context }) =>
    action === "build" && context !== null ? [{ dir: folderOf(cell).dir, context }] : [],
  );
  return [...groupBy(building, ({ dir }) => dir)].flatMap(([dir, cells]) => {
    const lines = linesToHide(cells.map(({ context }) => context));
    if (lines.length === 0) return [];
    return `warning: the images take what tools leave in the build context, and every change of it builds them again; hide it in ${dir}/.dockerignore: ${lines.join(" ")}`;
  });
}

async function localLookup(
  { engine = "docker", builder }: LocalBaseChoice,
  { env }: World,
): Promise<FindLocalBase> {
  const { createLocalBaseLookup } = await import("../engines/local-images.ts");
  return createLocalBaseLookup(engine, env, builder);
}

function describeLocal({ ref, engine, id }: LocalBaseUse): string {
  return `base ${ref}: in no registry, what ${engine} has is used: ${id}`;
}

/** Asks the engine only if a lock has an image that was built and not pushed: a build with nothing to do needs no engine. */
async function heldBy(
  localEngine: LocalEngine | null,
  fleet: Fleet,
  lock: Lock | null,
  { env }: World,
): Promise<ReadonlySet<string> | undefined> {
  if (localEngine === null) return undefined;
  const waiting = [lock, ...(await parentLocks(fleet))].some((each) =>
    Object.values(each?.images ?? {}).some(({ digest, created }) => digest === null && created !== null),
  );
  if (!waiting) return undefined;
  const { heldImages } = await import("../engines/local-images.ts");
  return heldImages(localEngine, env);
}
