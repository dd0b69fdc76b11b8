/** Opens and plans the fleet that the options of a command choose. */

import { groupBy } from "../../io/collections.ts";
import type { EngineName } from "../engines/engine-traits.ts";
import { type Problem, throwProblems } from "../../errors.ts";
import { linesToHide } from "../context/cell-context.ts";
import type { Fleet } from "./open-fleet.ts";
import type { FindBaseDigest, FindLocalBase } from "./find-bases.ts";
import { type FleetPlanOptions, planOpenFleet } from "./plan-open-fleet.ts";
import { refuseAdoptedLock, refuseForeignLock } from "../../lock/adopted-lock.ts";
import type { LocalEngine, Lock } from "../../lock/lock.ts";
import { readLock, readLockIfPresent } from "../../lock/lock-file.ts";
import { parentLocks } from "./parent-images.ts";
import { type LocalBaseUse, localBases } from "../plan/local-bases.ts";
import { findPlanned, type Plan } from "../plan/planned-cell.ts";
import type { Selection } from "../cells/select.ts";
import { note, type World } from "../../io/world.ts";
import { baseLookup, type FleetChoice, lockFileOf, openFleetFor, parseReplacements } from "./fleet-choice.ts";

/** Options of commands that can build on images of an engine. */
export interface LocalBaseChoice {
  /** The engine may have bases that no registry has. */
  readonly localBases?: boolean;
  readonly engine?: EngineName;
  readonly builder?: string;
}

export interface PlannedFleet {
  readonly fleet: Fleet;
  readonly only: readonly Selection[];
  readonly plan: Plan;
  readonly findBaseDigest: FindBaseDigest;
}

export interface PlanChosenOptions {
  /** Gets the reason if the digest of a base is not found. */
  readonly onProblem: (problem: Problem) => void;
  /** The lock will be written: a lock of another repository is refused. */
  readonly writes?: boolean;
  /** The engine that keeps images that are not pushed. It is asked for those that it has. */
  readonly keeper?: LocalEngine | null;
  /** Plan this cell alone, and ask registries only for its bases. */
  readonly cell?: string | undefined;
}

export async function planChosenFleet(
  flags: FleetChoice & LocalBaseChoice & { readonly push?: boolean },
  world: World,
  { onProblem, writes = false, keeper = null, cell }: PlanChosenOptions,
): Promise<PlannedFleet> {
  const { fleet, only: selected } = await openFleetFor(flags, world);
  const only = cell === undefined ? selected : [{ cell: findPlanned(fleet, cell).cell.id }];
  const lockFile = lockFileOf(flags);
  const lock = await readLockIfPresent(lockFile);
  refuseAdoptedLock(lock, lockFile);
  if (writes) refuseForeignLock(lock, fleet.matrix.repository, lockFile);
  // Problems wait until the plan is there: a base that the engine has is none.
  const waiting = new Map<string, Problem>();
  let isPlanned = false;
  const { findBaseDigest, readBase } = await baseLookup(flags, world, (problem, ref) =>
    isPlanned ? onProblem(problem) : waiting.set(ref, problem),
  );
  const plan = await planOpenFleet(fleet, {
    lock,
    only,
    published: flags.push ?? false,
    ...(await heldBy(keeper, fleet, lock, world)),
    replaceBases: parseReplacements(flags.replaceBase),
    rebuild: rebuildAsked(flags.cache),
    findBaseDigest,
    readBase,
    ...(flags.localBases ? { findLocalBase: await localLookup(flags, world) } : {}),
  });
  isPlanned = true;
  for (const problem of unresolvedBases(plan, fleet, waiting))
    onProblem(flags.localBases ? problem : { ...problem, fix: `${problem.fix}; ${toHaveLocal}` });
  note(world, strayNotes(plan, fleet));
  if (flags.localBases) note(world, localBases(plan).map(describeLocal));
  return { fleet, only, plan, findBaseDigest };
}

/** Plans the images that the lock has, to publish them. Asks no registry: images that were built have their bases in the lock. */
export async function planPublished(
  fleet: Fleet,
  only: readonly Selection[],
  options: FleetChoice,
): Promise<Plan> {
  const lockFile = lockFileOf(options);
  const lock = await readLock(lockFile);
  refuseAdoptedLock(lock, lockFile);
  const replaceBases = parseReplacements(options.replaceBase);
  return planOpenFleet(fleet, {
    lock,
    only,
    replaceBases,
    published: true,
    asBuilt: true,
    findBaseDigest: async () => null,
  });
}

/** `--no-cache` without a word means the present time. */
function rebuildAsked(cache: FleetChoice["cache"]): string | undefined {
  if (typeof cache === "string") return cache;
  return cache === false ? new Date().toISOString().replace(/\.\d+Z$/, "Z") : undefined;
}

const toHaveLocal = "what the engine here has of it, build --local-bases takes";

/** The problems of bases that the plan needs, each with its place in the first Dockerfile that names it. */
function unresolvedBases(
  { cells }: Plan,
  { dockerfileOf }: Fleet,
  problemsByBase: ReadonlyMap<string, Problem>,
): readonly Problem[] {
  const found = new Map<string, Problem>();
  for (const { cell, bases } of cells) {
    for (const { ref, used, digest } of bases) {
      const problem = problemsByBase.get(used);
      if (digest !== null || problem === undefined || found.has(used)) continue;
      const { bases: named, basesIn: file } = dockerfileOf(cell);
      const line = named.find((base) => base.ref === ref)?.line;
      found.set(used, line === undefined ? problem : { ...problem, at: { file, line } });
    }
  }
  return [...found.values()];
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
  keeper: LocalEngine | null,
  fleet: Fleet,
  lock: Lock | null,
  { env }: World,
): Promise<Pick<FleetPlanOptions, "held">> {
  if (keeper === null) return {};
  const waiting = [lock, ...(await parentLocks(fleet))].some((each) =>
    Object.values(each?.images ?? {}).some(({ digest, created }) => digest === null && created !== null),
  );
  if (!waiting) return {};
  const { heldImages } = await import("../engines/local-images.ts");
  return { held: await heldImages(keeper, env) };
}

/** The plan of `build --push`. Throws if the digest of a base is not found. */
export async function planForExport(flags: FleetChoice, world: World): Promise<PlannedFleet> {
  const problems: Problem[] = [];
  const onProblem = (problem: Problem) => problems.push(problem);
  const planned = await planChosenFleet({ ...flags, push: true }, world, { onProblem });
  throwProblems(problems);
  return planned;
}
