/** The plan of a fleet: its cells and their Dockerfiles, with the digests of all bases. */

import { throwProblems, type Place, type Problem, usageError } from "../errors.ts";
import { rebuildWord, type Lock, type LockPins, type LockedBase, type LockedLocal } from "../lock/lock.ts";
import type { Digest } from "../oci/digest.ts";
import { parseImageReference } from "../oci/reference.ts";
import { compareText } from "../io/collections.ts";
import type { Cell } from "./cells/cell.ts";
import { oncePerText } from "./cells/once-per.ts";
import { planFleet, type CellSources } from "./plan/plan-fleet.ts";
import type { Selection } from "./cells/select.ts";
import { checkedCells } from "./check-axes.ts";
import { suggest } from "../io/suggest.ts";
import type { Fleet } from "./open-fleet.ts";
import type { Plan, PlannedBase } from "./plan/planned-cell.ts";

/** Digest of a base image's manifest or index, or null where nobody can tell. */
export type FindBaseDigest = (ref: string) => Promise<Digest | null>;

/** The image that an engine has under this name, or null where it has none. */
export type FindLocalBase = (ref: string) => Promise<LockedLocal | null>;

export interface FleetPlanOptions {
  readonly lock: Lock | null;
  /** What decides in the lock's place which bases and which rebuild were asked for. Default: the lock. */
  readonly pins?: LockPins;
  readonly only?: readonly Selection[];
  readonly published?: boolean;
  readonly held?: ReadonlySet<string>;
  /** Base reference → the one to build with instead. */
  readonly replaceBases?: ReadonlyMap<string, string>;
  /** Build these cells anew, though nothing else has changed: what `build --no-cache` names. Default: what the lock says of each. */
  readonly rebuild?: string | undefined;
  /** Asked once for every base that neither pins its digest itself nor stands in the lock. */
  readonly findBaseDigest: FindBaseDigest;
  /** Asked then for those whose digest is not found; the lock's local bases count as not in it. Default: no engine is asked. */
  readonly findLocalBase?: FindLocalBase;
}

/** Plans a fleet. Throws `TEMPLATE_IGNORES_AXIS`. A base whose digest is found nowhere leaves its cells without input digest. */
export async function planOpenFleet(fleet: Fleet, options: FleetPlanOptions): Promise<Plan> {
  const replace = replacementsOf(fleet, options.replaceBases ?? new Map());
  const chosen = checkedCells(fleet, options.only ?? []);
  const pins = options.pins ?? options.lock;
  const pinOf = pinsOf(pins);
  const rebuildOf = rebuildsOf(pins, options.rebuild);
  const ownDigest = oncePerText((ref) => parseImageReference(ref).digest);
  const isOpen = (pin: LockedBase | null) =>
    pin === null || (options.findLocalBase !== undefined && pin.local !== undefined);
  const unknown = new Set<string>();
  for (const cell of chosen) {
    for (const { ref } of fleet.dockerfileOf(cell).bases) {
      const used = replace.get(ref) ?? ref;
      if (ownDigest(used) === null && isOpen(pinOf(used, cell))) unknown.add(used);
    }
  }
  const found = new Map(
    await Promise.all([...unknown].map(async (ref) => [ref, await findBase(ref, options)] as const)),
  );
  const known = (used: string, cell: Cell): Pick<PlannedBase, "digest" | "local"> => {
    const own = ownDigest(used);
    if (own !== null) return { digest: own };
    const pin = pinOf(used, cell);
    const { digest = null, local } = (isOpen(pin) ? found.get(used) : null) ?? pin ?? {};
    return { digest, ...(local && { local }) };
  };
  const sourcesOf = (cell: Cell): CellSources => {
    const dockerfile = fleet.dockerfileOf(cell);
    const bases = dockerfile.bases.map(({ ref }): PlannedBase => {
      const used = replace.get(ref) ?? ref;
      return { ref, used, ...known(used, cell) };
    });
    return { dockerfile, bases, context: fleet.context.digest, rebuild: rebuildOf(cell) };
  };
  const sources = new Map(chosen.map((cell) => [cell.id, sourcesOf(cell)]));
  return planFleet(fleet.matrix, fleet.cells, sources, options);
}

async function findBase(
  ref: string,
  { findBaseDigest, findLocalBase }: FleetPlanOptions,
): Promise<Pick<LockedBase, "digest" | "local"> | null> {
  const digest = await findBaseDigest(ref);
  if (digest !== null) return { digest };
  const held = (await findLocalBase?.(ref)) ?? null;
  return held === null ? null : { digest: held.id, local: held.engine };
}

interface Replacement {
  readonly used: string;
  /** In the matrix; null for one that the caller asks for. */
  readonly at: Place | null;
}

/**
 * The matrix' own replacements, and before them the caller's. Throws `USAGE` or `MATRIX_SCHEMA` for a base that no Dockerfile of the
 * whole fleet names: what it was to replace would be built with.
 */
function replacementsOf(
  { cells, dockerfileOf, matrix }: Fleet,
  asked: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const all = new Map<string, Replacement>([
    ...Object.entries(matrix.replaceBases).map(([ref, { value, at }]) => [ref, { used: value, at }] as const),
    ...[...asked].map(([ref, used]) => [ref, { used, at: null }] as const),
  ]);
  if (all.size === 0) return asked;
  const refs = new Set(
    cells.flatMap(({ cell, skipped }) =>
      skipped === null ? dockerfileOf(cell).bases.map(({ ref }) => ref) : [],
    ),
  );
  const names = [...refs].sort();
  throwProblems(
    [...all].flatMap(([ref, { at }]) => (refs.has(ref) ? [] : [unknownReplacement(ref, at, names)])),
  );
  return new Map([...all].map(([ref, { used }]) => [ref, used]));
}

function unknownReplacement(ref: string, at: Place | null, names: readonly string[]): Problem {
  const near = suggest(ref, names);
  const known = `the bases are ${names.slice(0, 10).join(", ")}${names.length > 10 ? " …" : ""}`;
  return {
    code: at === null ? "USAGE" : "MATRIX_SCHEMA",
    message: `no Dockerfile starts from ${ref}, which is to be replaced`,
    fix: near === null ? known : `did you mean ${near}? ${known}`,
    ...(at === null ? {} : { at }),
  };
}

/** The lock pins bases: a tag that has moved since changes nothing until somebody asks for it. */
function pinsOf(lock: LockPins | null): (ref: string, cell: Cell) => LockedBase | null {
  const pins = new Map<string, LockedBase>();
  const images = Object.values(lock?.images ?? {});
  // What somebody has asked for goes before what images were built on.
  for (const base of [
    ...images.flatMap(({ nextBases = [] }) => nextBases),
    ...images.flatMap(({ bases }) => bases),
  ]) {
    if (!pins.has(base.ref)) pins.set(base.ref, base);
  }
  return (ref, { id }) => {
    const image = lock?.images[id];
    const own = [...(image?.nextBases ?? []), ...(image?.bases ?? [])].find((base) => base.ref === ref);
    return own ?? pins.get(ref) ?? null;
  };
}

/**
 * The word of a cell: the one that is asked for; else the one that the lock says it was built by, so that the next build does not go back;
 * and for a cell that the lock does not have the last one, in the order of texts, of the others: its steps are to be as new as theirs. Null
 * where there is none. Throws `USAGE` for what can be no word.
 */
function rebuildsOf(lock: LockPins | null, asked: string | undefined): (cell: Cell) => string | null {
  if (asked !== undefined && !rebuildWord.test(asked)) {
    throw usageError(
      `${JSON.stringify(asked)} is no word for a rebuild`,
      "write --no-cache=2026-W47: at most 64 letters, digits and . _ : -",
    );
  }
  const images = lock?.images ?? {};
  const words = Object.values(images).flatMap(({ inputs }) => inputs?.rebuild ?? []);
  const last = words.sort(compareText).at(-1) ?? null;
  return ({ id }) => {
    if (asked !== undefined) return asked;
    return Object.hasOwn(images, id) ? (images[id]?.inputs?.rebuild ?? null) : last;
  };
}
