/** Opens the images of a lock, and compares their files with their declarations. */

import { ImgmatchError, type Problem, usageError } from "../errors.ts";
import { cacheFolder, folderCache } from "../inspect/image/layer-cache.ts";
import { groupBy } from "../io/collections.ts";
import { type Watching, type World, worldOf } from "../io/world.ts";
import { isAdopted, refuseAdoptedLock } from "../lock/adopted-lock.ts";
import { repositoryOf } from "../lock/image-repository.ts";
import { readLock, readLockIfPresent } from "../lock/lock-file.ts";
import type { ImageEffect } from "../inspect/audit/audit-image.ts";
import { type DeclaredImage, imageAuditor } from "./audit/image-examiner.ts";
import { dockerHolder } from "./audit/open-built.ts";
import { unusedAxes } from "./audit/unused-axes.ts";
import type { Lock, LockedImage, Measured } from "../lock/lock.ts";
import { parseImageReference, withDigest } from "../oci/reference.ts";
import type { PlannedCell } from "./plan/planned-cell.ts";
import { selectImages } from "./cells/select.ts";
import { registryFor } from "../oci/registry/registry-access.ts";
import { declaredImage } from "./audit/declared-image.ts";
import { type FleetChoice, lockFileOf, openFleetFor, parseReplacements } from "./open/fleet-choice.ts";
import { planOpenFleet } from "./open/plan-open-fleet.ts";

export interface AuditOptions extends Omit<FleetChoice, "cache" | "offline">, Watching<AuditEvent> {
  /** Ask the registry alone, and leave out images that were never pushed. */
  readonly remote?: boolean;
}

/** Sent before each image is opened; `done` were opened before. */
export interface AuditEvent {
  readonly type: "image";
  readonly cell: string;
  readonly done: number;
  readonly total: number;
}

export interface AuditAnswer {
  readonly schemaVersion: 1;
  /** In the order of the matrix, or of the lock where others built the images. */
  readonly cells: readonly AuditedCell[];
  /** Cells that were left out: their images were never pushed. */
  readonly unpublished: readonly string[];
}

export interface AuditedCell {
  readonly cell: string;
  /** As it was opened: `repository@sha256:…`, or the engine's `repository:tag`. */
  readonly image: string;
  readonly measured: Measured | null;
  /** `AUDIT_…`: declared and not true. */
  readonly lies: readonly Problem[];
  /** For a person to look at. */
  readonly notes: readonly Problem[];
  /** The reason why it was not opened; null if it was. */
  readonly failure: Problem | null;
}

/**
 * Opens the images of a lock, and compares their files with their declarations. An image that cannot be opened does not stop the
 * others. Throws `USAGE`, `LOCK_…`, as `plan`, and the signal's reason.
 *
 * @example
 * const { cells } = await audit({ only: ["cuda=12.8.1"] });
 */
export async function audit(asked: AuditOptions = {}, given?: Partial<World>): Promise<AuditAnswer> {
  const world = worldOf(asked, given);
  const lock = await readLockIfPresent(lockFileOf(asked));
  return lock !== null && isAdopted(lock) ? auditAdopted(asked, lock, world) : auditBuilt(asked, world);
}

async function auditBuilt(asked: AuditOptions, world: World): Promise<AuditAnswer> {
  const { fleet, only } = await openFleetFor(asked, world);
  const lockFile = lockFileOf(asked);
  const lock = await readLock(lockFile);
  refuseAdoptedLock(lock, lockFile);
  const plan = await planOpenFleet(fleet, {
    lock,
    only,
    replaceBases: parseReplacements(asked.replaceBase),
    published: false,
    findBaseDigest: async () => null,
  });
  const built = plan.cells.filter(isBuilt);
  const subjects = built.map((planned) => ({
    cell: planned.cell.id,
    locked: planned.locked,
    declared: declaredOf(planned),
  }));
  const effects = new Map<string, ImageEffect>();
  const answer = await auditImages(subjects, lock, asked, world, effects);
  const unused = unusedAxes(
    built.flatMap(({ cell }) => {
      const effect = effects.get(cell.id);
      return effect === undefined ? [] : [{ cell, effect }];
    }),
  );
  const unusedByCell = groupBy(
    unused.flatMap(({ problem, cells }) => cells.map((cell) => ({ cell, problem }))),
    ({ cell }) => cell,
  );
  const cells = answer.cells.map((found) => {
    const more = unusedByCell.get(found.cell)?.map(({ problem }) => problem) ?? [];
    return { ...found, lies: [...found.lies, ...more] };
  });
  return { ...answer, cells };
}

/**
 * Audits images that others built, without a matrix. The lock's requirement of each, estimated or stated, counts as declared, and every file
 * counts as the image's own.
 */
async function auditAdopted(asked: AuditOptions, all: Lock, world: World): Promise<AuditAnswer> {
  if (asked.registry !== undefined || (asked.replaceBase ?? []).length > 0)
    throw usageError(
      "--registry and --replace-base need a matrix, and this lock holds images that others built",
      "leave them out",
    );
  const lock = selectImages(all, asked.only ?? []);
  const { images } = lock;
  const subjects = Object.entries(images).map(([cell, locked]) => {
    const { requires, platform } = locked;
    return { cell, locked, declared: { requires, platform, floor: [], base: null } };
  });
  const answer = await auditImages(subjects, lock, asked, world);
  const again = (cell: string) => (problem: Problem) => ({
    ...problem,
    fix: `adopt it again, and state the toolkit or march that its files have: imgmatch adopt ${lock.repository}:${images[cell]?.tag}`,
  });
  return {
    ...answer,
    cells: answer.cells.map((found) => ({
      ...found,
      lies: found.lies.map(again(found.cell)),
      notes: found.notes.map(again(found.cell)),
    })),
  };
}

interface Subject {
  readonly cell: string;
  readonly locked: LockedImage;
  readonly declared: DeclaredImage | null;
}

async function auditImages(
  subjects: readonly Subject[],
  lock: Lock,
  asked: AuditOptions,
  world: World,
  effects = new Map<string, ImageEffect>(),
): Promise<AuditAnswer> {
  const { remote = false, onEvent } = asked;
  const { env, signal = new AbortController().signal } = world;
  const wanted = subjects.filter(({ locked }) => !remote || locked.digest !== null);
  const declared = new Map(wanted.map((subject) => [subject.cell, subject.declared]));
  const examine = imageAuditor({
    registry: await registryFor(asked, world),
    cache: folderCache(cacheFolder(env)),
    declared: (cell) => declared.get(cell) ?? null,
    // For images that were built and never pushed.
    holder: { ...dockerHolder(env), ...(remote && { diffIds: null }) },
  });
  const cells: AuditedCell[] = [];
  for (const { cell, locked } of wanted) {
    signal.throwIfAborted();
    onEvent?.({ type: "image", cell, done: cells.length, total: wanted.length });
    const { digest, tag } = locked;
    const repository = repositoryOf(lock, locked);
    const image = digest === null ? `${repository}:${tag}` : `${repository}@${digest}`;
    const where =
      digest === null ? { id: image, size: null } : withDigest(parseImageReference(repository), digest);
    try {
      const { effect, ...found } = await examine({ cell, image: where }, { signal, onLog: () => {} });
      effects.set(cell, effect);
      cells.push({ cell, image, ...found, failure: null });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ImgmatchError)) throw error;
      cells.push({ cell, image, measured: null, lies: [], notes: [], failure: error.problems[0] });
    }
  }
  return {
    schemaVersion: 1,
    cells,
    unpublished: subjects.filter((subject) => !wanted.includes(subject)).map(({ cell }) => cell),
  };
}

type BuiltCell = PlannedCell & { readonly locked: LockedImage };

function isBuilt(planned: PlannedCell): planned is BuiltCell {
  return planned.locked?.created != null;
}

/** The lock's declaration, on the bases that it names: the matrix may have another one by now. */
function declaredOf(planned: BuiltCell): DeclaredImage | null {
  const { locked } = planned;
  const known = new Map(locked.bases.map((base) => [base.ref, base]));
  const bases = planned.bases.map(({ ref, used }) => {
    const { digest = null, local } = known.get(used) ?? {};
    return { ref, used, digest, ...(local && { local }) };
  });
  const found = declaredImage({ ...planned, bases });
  return found && { ...found, requires: locked.requires, platform: locked.platform };
}
