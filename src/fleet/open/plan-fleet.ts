/** Plans an open fleet: finds the bases of each cell, and compares the cell with the lock. */

import { InternalError, type Place, type Problem, throwProblems, usageError } from "../../errors.ts";
import { compareText, groupBy, remember } from "../../io/collections.ts";
import { type LockPins, rebuildWord } from "../../lock/lock.ts";
import type { Cell } from "../cells/cell.ts";
import { memoizeBy } from "../cells/memoize-by.ts";
import { type CellContext, cellContexts, decidedUse, withNamed } from "../context/cell-context.ts";
import type { ContextListing } from "../context/context.ts";
import { type CellSources, planCells, type PlanCellsOptions } from "../plan/plan-cells.ts";
import type { ChangedFiles, Plan, PlannedBase, PlannedCell } from "../plan/planned-cell.ts";
import type { CellDockerfile, CellWithDockerfile } from "./cell-dockerfile.ts";
import { decidesAlone, guardInstructions } from "../dockerfile/guard.ts";
import { withGuard } from "../dockerfile/render-cell.ts";
import { repositoryOfCell } from "../cells/cell-settings.ts";
import { baseFinder, type BaseSources } from "./find-bases.ts";
import { checkedCells, type Fleet } from "./open-fleet.ts";
import { builtOnLocal, parentImages, parentLock } from "./parent-images.ts";
import { suggest } from "../../io/suggest.ts";
import { firstOf } from "../../io/table.ts";
import type { Digest } from "../../oci/digest.ts";
import { isRepository, parseImageReference } from "../../oci/reference.ts";
import { buildableCells } from "../cells/expand.ts";

export interface FleetPlanOptions extends PlanCellsOptions, BaseSources {
  /** The source of base digests and of rebuild words. Default: the lock. */
  readonly pins?: LockPins;
  /** Base reference → the one to build with instead. */
  readonly replaceBases?: ReadonlyMap<string, string>;
  /** The word of `build --no-cache`: another word than the lock's builds a cell anew. Default: the lock's word of each cell. */
  readonly rebuild?: string | undefined;
  /** The changed files of a context since the digest of then; null if nobody knows them. Default: nobody does. */
  readonly contextChanges?:
    | ((then: Digest, context: CellContext) => Promise<ChangedFiles | null>)
    | undefined;
  readonly onGuardless?: (cell: GuardlessCell) => void;
}

/** A cell that asks for a guard and gets none. */
export interface GuardlessCell {
  readonly cell: string;
  /** Its base. */
  readonly base: string;
  /** `unread`: nobody could read the base's program, which a guard repeats. */
  readonly why: "unread" | "no shell";
}

/** Plans a fleet. The cells of a base without a known digest have no input digest. Throws `SELECTION_…`, `TEMPLATE_IGNORES_AXIS`. */
export async function planFleet(fleet: Fleet, options: FleetPlanOptions): Promise<Plan> {
  const { lock, pins = lock, replaceBases = new Map<string, string>(), contextChanges } = options;
  const { onGuardless = () => {} } = options;
  const replace = replacementsOf(fleet, replaceBases);
  const parents = parentImages(fleet, await planParents(fleet, options));
  const basesOf = baseFinder(pins, replace, parents, options);
  const usedContextOf = memoizeBy((listing: ContextListing) => cellContexts(listing));
  const rebuildOf = rebuildsOf(pins, options.rebuild);
  const cells = checkedCells(fleet, options.only ?? []);
  const withFiles = cells.map((cell) => ({ cell, dockerfile: fleet.dockerfileOf(cell) }));
  // `compileDockerfiles` gives cells with the same instructions one list of bases: they share the context too. A cell in the lock may have pins
  // of its own.
  const isLocked = ({ id }: Cell) => (pins?.images[id] ?? lock?.images[id]) !== undefined;
  const alike = groupBy(withFiles, ({ cell, dockerfile }) =>
    isLocked(cell) || dockerfile.start !== null ? cell : dockerfile.bases,
  );
  const sources = new Map<string, CellSources>();
  const changes = new Map<string, Promise<ChangedFiles | null>>();
  const changesOf = (then: Digest | undefined, context: CellContext) =>
    then === undefined || then === context.digest || contextChanges === undefined
      ? null
      : remember(changes, `${then} ${context.digest}`, () => contextChanges(then, context));
  const addSources = async (group: readonly CellWithDockerfile[], first: CellWithDockerfile) => {
    const found = await basesOf(first);
    const { listing, named } = fleet.folderOf(first.cell);
    const context = await withNamed(
      await usedContextOf(listing)(decidedUse(first.dockerfile.use, found)),
      named,
    );
    for (const { cell, dockerfile: rendered } of group) {
      const dockerfile = await withCellGuard(fleet, cell, rendered, found, onGuardless);
      // Without the start that its guard repeats, an image cannot be built.
      const bases = found.map((base) => (isUnread(rendered, base) ? { ...base, digest: null } : base));
      const builtOn = builtOnLocal(bases, parents, lock?.images[cell.id]);
      const rebuild = rebuildOf(cell);
      const changedFiles = await changesOf(lock?.images[cell.id]?.inputs?.context, context);
      const known = { ...(builtOn && { builtOn }), ...(changedFiles && { changedFiles }) };
      sources.set(cell.id, { dockerfile, bases, context, rebuild, ...known });
    }
  };
  await Promise.all([...alike.values()].map(async (group) => group[0] && addSources(group, group[0])));
  return planCells(fleet.matrix, fleet.cells, sources, { namesVersion: fleet.namesVersion, ...options });
}

function isUnread({ start }: CellDockerfile, base: PlannedBase | undefined): boolean {
  if (start === null || base?.ref !== start.base || decidesAlone(start.own)) return false;
  return base.digest !== null && base.config?.start === undefined;
}

/** The Dockerfile with the guard of a cell that asks for one. Without a base's start, and for an image without a shell, it has none. */
async function withCellGuard(
  { matrix, writeGuard }: Fleet,
  cell: Cell,
  dockerfile: CellDockerfile,
  bases: readonly PlannedBase[],
  tell: (cell: GuardlessCell) => void,
): Promise<CellDockerfile> {
  const { start } = dockerfile;
  if (start === null) return dockerfile;
  if (writeGuard === undefined) throw new InternalError(`nobody writes the guard of ${cell.id}`);
  const base = bases.find(({ ref }) => ref === start.base);
  if (base?.digest === null) return dockerfile;
  const baseStart = base?.config?.start ?? null;
  if (isUnread(dockerfile, base)) {
    tell({ cell: cell.id, why: "unread", base: start.base });
    return dockerfile;
  }
  const guard = await writeGuard({ ...cell, repository: repositoryOfCell(matrix, cell) });
  const instructions = guardInstructions(start.own, baseStart, guard);
  if (instructions === null) tell({ cell: cell.id, why: "no shell", base: start.base });
  return withGuard(dockerfile, instructions ?? "");
}

/** Plans the fleets whose images are bases of this one, by cell. A base without a pin in a parent's lock means that the parent is not built. */
async function planParents(
  { parents }: Fleet,
  {
    published,
    engineHas,
    leavesFrontEnd = false,
    replaceBases = new Map<string, string>(),
  }: FleetPlanOptions,
): Promise<ReadonlyMap<Fleet, ReadonlyMap<string, PlannedCell>>> {
  const plans = new Map<Fleet, ReadonlyMap<string, PlannedCell>>();
  for (const parent of new Set([...parents.values()].map(({ fleet }) => fleet))) {
    const replaced = replacementsFor(parent, replaceBases);
    const lock = await parentLock(parent);
    const asked = { lock, published, engineHas, leavesFrontEnd, replaceBases: replaced };
    const { cells } = await planFleet(parent, asked);
    plans.set(parent, new Map(cells.map((planned) => [planned.cell.id, planned])));
  }
  return plans;
}

/**
 * The rebuild word of each cell. The word of `--no-cache` comes first. Else a cell keeps the word of its lock entry, so that the next build
 * does not go back. A cell without an entry takes the word that most entries have, the greatest of several: the word of a fix of some cells
 * is theirs alone. Null if most have none. Throws `USAGE` for an invalid word.
 */
function rebuildsOf(lock: LockPins | null, word: string | undefined): (cell: Cell) => string | null {
  if (word !== undefined && !rebuildWord.test(word)) {
    throw usageError(
      `${JSON.stringify(word)} is not a valid word for a rebuild`,
      "write --no-cache=2026-W47: at most 64 letters, digits and . _ : -",
    );
  }
  const images = lock?.images ?? {};
  const alike = groupBy(Object.values(images), ({ inputs }) => inputs?.rebuild ?? null);
  const [[usual = null] = []] = [...alike].sort(
    ([one, of], [other, others]) => others.length - of.length || compareText(other ?? "", one ?? ""),
  );
  return ({ id }) => {
    if (word !== undefined) return word;
    return Object.hasOwn(images, id) ? (images[id]?.inputs?.rebuild ?? null) : usual;
  };
}

interface Replacement {
  readonly used: string;
  /** Its place in the matrix; null for one of the caller. */
  readonly at: Place | null;
}

/**
 * The replacements of the caller and of the matrix, for the bases of this fleet. The caller's go first. Throws `USAGE` or `MATRIX_SCHEMA` for
 * one that matches no base of the fleet: the base that somebody meant to replace would be used.
 */
function replacementsOf(fleet: Fleet, fromCaller: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const { matrix } = fleet;
  const all = new Map<string, Replacement>([
    ...Object.entries(matrix.replaceBases).map(([ref, { value, at }]) => [ref, { used: value, at }] as const),
    ...[...fromCaller].map(([ref, used]) => [ref, { used, at: null }] as const),
  ]);
  if (all.size === 0) return fromCaller;
  const names = replaceableBases(fleet);
  const matches = [...all].map(([old, { used, at }]) => ({
    ...{ old, used, at },
    found: names.flatMap((ref) => matchIn(old, ref) ?? []),
  }));
  throwProblems(
    matches.flatMap(({ old, at, found }) => (found.length > 0 ? [] : [unknownReplacement(old, at, names)])),
  );
  // The last one counts: the matrix's stand before the caller's, and short names before long ones: `docker.io` before `nvidia/cuda`.
  const uses = matches.flatMap(({ used, at, found }) =>
    found.map(({ ref, rest, length }) => ({
      ref,
      used: used + rest,
      rank: [at === null ? 1 : 0, length] as const,
    })),
  );
  const ordered = uses.sort(({ rank: a }, { rank: b }) => a[0] - b[0] || a[1] - b[1]);
  return new Map(ordered.map(({ ref, used }) => [ref, used]));
}

/** The bases of all Dockerfiles, sorted, without the images of other fleets. */
function replaceableBases({ cells, dockerfileOf, parents }: Fleet): readonly string[] {
  const refs = new Set(
    buildableCells(cells).flatMap((cell) => dockerfileOf(cell).bases.map(({ ref }) => ref)),
  );
  return [...refs].filter((ref) => !parents.has(ref)).sort();
}

/** The caller's replacements that match a base of this fleet. */
function replacementsFor(fleet: Fleet, fromCaller: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  if (fromCaller.size === 0) return fromCaller;
  const names = replaceableBases(fleet);
  return new Map([...fromCaller].filter(([old]) => names.some((ref) => matchIn(old, ref) !== null)));
}

/** Compares `old` with a base: the whole reference, its repository, or its registry with or without a path. Null for another image. */
function matchIn(old: string, ref: string): { ref: string; rest: string; length: number } | null {
  if (old === ref) return { ref, rest: "", length: Number.POSITIVE_INFINITY };
  const { registry, repository, tag, digest } = parseImageReference(ref);
  const whole = `${registry}/${repository}`;
  const place = isRepository(old) ? parseImageReference(old) : null;
  const given = place !== null && `${place.registry}/${place.repository}` === whole ? whole : old;
  if (given !== whole && !whole.startsWith(`${given}/`)) return null;
  const suffix = `${tag === null ? "" : `:${tag}`}${digest === null ? "" : `@${digest}`}`;
  return { ref, rest: whole.slice(given.length) + suffix, length: given.length };
}

function unknownReplacement(ref: string, at: Place | null, names: readonly string[]): Problem {
  const near = suggest(ref, names);
  const known = `the bases are ${firstOf(names, 10)}`;
  return {
    code: at === null ? "USAGE" : "MATRIX_SCHEMA",
    message: `no Dockerfile starts from ${ref}: there is nothing to replace`,
    fix: near === null ? known : `did you mean ${near}? ${known}`,
    ...(at === null ? {} : { at }),
  };
}
