/** Prepares the plan of a build, or of images that were built: reads the lock, and asks registries and engines for bases. */

import { defaultEngine, type EngineName, engineTraits } from "../engines/engine-traits.ts";
import type { UnresolvedBases } from "../engines/jobs.ts";
import { type Problem, throwProblems } from "../../errors.ts";
import { contextNotes } from "./context-notes.ts";
import type { Fleet } from "./open-fleet.ts";
import type { FindBaseDigest, FindLocalBase } from "./find-bases.ts";
import { type FleetPlanOptions, type GuardlessCell, planFleet } from "./plan-fleet.ts";
import { refuseAdoptedLock, refuseForeignLock } from "../../lock/adopted-lock.ts";
import type { LocalEngine, Lock } from "../../lock/lock.ts";
import { readLock, readLockIfPresent } from "../../lock/store/lock-file.ts";
import { parentLocks } from "./parent-images.ts";
import { type LocalBaseUse, localBases } from "../plan/local-bases.ts";
import type { Plan } from "../plan/planned-cell.ts";
import type { Selection } from "../cells/select.ts";
import { groupBy } from "../../io/collections.ts";
import { firstOf } from "../../io/table.ts";
import { note, type World } from "../../io/world.ts";
import { type BaseChoice, baseLookup, parseReplacements } from "./fleet-choice.ts";

/** Options of commands that can build on images of an engine. */
export interface LocalBaseChoice {
  /** The engine may have bases that no registry has. */
  readonly localBases?: boolean;
  readonly engine?: EngineName;
  readonly builder?: string;
}

export interface PrepareOptions {
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
  options: PrepareOptions,
  world: World,
): Promise<PreparedBuild> {
  const { only, lockFile, bases, local = {}, push, onProblem, contextChanges } = options;
  const { writes = false, localEngine = null } = options;
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
  const { localBases: takesLocal = false, engine = defaultEngine } = local;
  // Without the digest of its front end another machine could not build an image again: it is not pushed.
  const leavesFrontEnd = !push && !engineTraits[engine].frontEnds;
  const shellless: GuardlessCell[] = [];
  const plan = await planFleet(fleet, {
    lock,
    only,
    published: push,
    onGuardless: (cell) =>
      cell.why === "no shell" ? shellless.push(cell) : waiting.set(cell.base, unreadStart(cell)),
    engineHas: await heldBy(localEngine, fleet, lock, world),
    replaceBases: parseReplacements(bases.replaceBase),
    rebuild: rebuildAsked(bases.cache),
    contextChanges,
    findBaseDigest,
    readBase,
    leavesFrontEnd,
    ...(takesLocal ? { findLocalBase: await localLookup(local, world) } : {}),
  });
  isPlanned = true;
  const unresolved = unresolvedBases(plan, fleet, waiting, takesLocal);
  for (const problem of unresolved.values()) tell(problem);
  note(world, contextNotes(plan, fleet));
  note(world, guardlessNotes(shellless));
  if (leavesFrontEnd) note(world, frontEndNotes(plan, fleet, engine));
  if (takesLocal) note(world, localBases(plan).map(describeLocal));
  throwProblems(problems);
  return { plan, lock, findBaseDigest, unresolved };
}

export interface RecallOptions {
  readonly only: readonly Selection[];
  readonly lockFile: string;
  readonly replaceBase: readonly string[] | undefined;
  /** To publish the images. */
  readonly published: boolean;
}

/** Plans with the images that the lock has. Asks no registry: images that were built have their bases in the lock. */
export async function planFromLock(
  fleet: Fleet,
  { only, lockFile, replaceBase, published }: RecallOptions,
): Promise<{ readonly lock: Lock; readonly plan: Plan }> {
  const lock = await readLock(lockFile);
  refuseAdoptedLock(lock, lockFile);
  const plan = await planFleet(fleet, {
    ...{ lock, only, published, asBuilt: published, leavesFrontEnd: true },
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

async function localLookup(
  { engine = defaultEngine, builder }: LocalBaseChoice,
  { env }: World,
): Promise<FindLocalBase> {
  const { createLocalBaseLookup } = await import("../engines/local-images.ts");
  return createLocalBaseLookup(engine, env, builder);
}

/** The front ends that a plan leaves out. */
function frontEndNotes({ cells }: Plan, { dockerfileOf }: Fleet, engine: EngineName): readonly string[] {
  const left = cells.flatMap(({ cell, action, bases }) => {
    if (action !== "build") return [];
    const known = new Set(bases.map(({ ref }) => ref));
    return dockerfileOf(cell).bases.flatMap(({ ref, isFrontEnd }) =>
      isFrontEnd && !known.has(ref) ? [ref] : [],
    );
  });
  return [...new Set(left)].map(
    (ref) =>
      `# syntax=${ref}: ${engine} ignores it, and its digest is not known: the images stay on this machine; build --push needs the digest`,
  );
}

function unreadStart({ base }: GuardlessCell): Problem {
  return {
    code: "BASE_UNRESOLVED",
    message: `the guard repeats the program of ${base}, and its ENTRYPOINT and CMD cannot be read`,
    fix: "write ENTRYPOINT and CMD into the Dockerfile, or let its registry be asked",
  };
}

function guardlessNotes(cells: readonly GuardlessCell[]): readonly string[] {
  return [...groupBy(cells, ({ base }) => base)].map(([base, alike]) => {
    const names = firstOf(
      alike.map(({ cell }) => cell),
      3,
    );
    return `no guard for ${names}: nothing shows that an image on ${base} has a shell, which runs the guard`;
  });
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
