/** Opens the images of a lock, and compares their files with their declarations. */

import { type Problem, usageError } from "../errors.ts";
import type { ImageEffect } from "../lock/image-audit.ts";
import { inWorld, type Watching, type World } from "../io/world.ts";
import { isAdopted } from "../lock/adopted-lock.ts";
import type { Lock } from "../lock/lock.ts";
import { readLockIfPresent } from "../lock/store/lock-file.ts";
import {
  type AuditedCell,
  type AuditEvent,
  type AuditSubject,
  auditImages,
  auditSubject,
  isBuilt,
} from "./audit/audit-images.ts";
import type { Examining } from "./audit/image-examiner.ts";
import { dockerHolder } from "../oci/engine/built-image.ts";
import { unusedAxes } from "./audit/unused-axes.ts";
import { groupBy } from "../io/collections.ts";
import { selectImages } from "./cells/select.ts";
import type { HostServices } from "./host-services.ts";
import { type FleetChoice, fleetAt, lockFileOf } from "./open/fleet-choice.ts";
import { planFromLock } from "./open/prepare-build.ts";

export type { AuditedCell, AuditEvent } from "./audit/audit-images.ts";

export interface AuditOptions extends Omit<FleetChoice, "cache" | "offline">, Watching<AuditEvent> {
  /** Ask the registry alone, and leave out images that were never pushed. */
  readonly remote?: boolean;
}

export interface AuditAnswer {
  readonly schemaVersion: 1;
  /** In the order of the matrix, or of the lock where others built the images. */
  readonly cells: readonly AuditedCell[];
  /** Cells that were left out: their images were never pushed. */
  readonly unpublished: readonly string[];
}

/**
 * Opens the images of a lock, and compares their files with their declarations. An image that cannot be opened does not stop the
 * others. Throws `USAGE`, `LOCK_…`, as `plan`, and the signal's reason.
 *
 * @example
 * const { cells } = await audit({ only: ["cuda=12.8.1"] });
 */
export type AuditFunction = (options?: AuditOptions, world?: Partial<World>) => Promise<AuditAnswer>;

export function auditWith(ports: Examining & HostServices): AuditFunction {
  return (options = {}, given) => inWorld(options, given, (world) => auditIn(options, world), ports);
}

async function auditIn(asked: AuditOptions, world: World & Examining & HostServices): Promise<AuditAnswer> {
  const lock = await readLockIfPresent(lockFileOf(asked));
  return lock !== null && isAdopted(lock) ? auditAdopted(asked, lock, world) : auditBuilt(asked, world);
}

async function auditBuilt(
  asked: AuditOptions,
  world: World & Examining & HostServices,
): Promise<AuditAnswer> {
  const { fleet, lockFile, only } = await fleetAt(asked, world);
  const { replaceBase } = asked;
  const { lock, plan } = await planFromLock(fleet, { only, lockFile, replaceBase, published: false });
  const built = plan.cells.filter(isBuilt);
  const effects = new Map<string, ImageEffect>();
  const answer = await auditWanted(built.map(auditSubject), lock, asked, world, effects);
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
async function auditAdopted(
  asked: AuditOptions,
  all: Lock,
  world: World & Examining & HostServices,
): Promise<AuditAnswer> {
  if (asked.registry !== undefined || (asked.replaceBase ?? []).length > 0)
    throw usageError(
      "--registry and --replace-base need a matrix, and this lock is of adopted images",
      "leave them out",
    );
  const lock = selectImages(all, asked.only ?? []);
  const { images } = lock;
  const subjects = Object.entries(images).map(([cell, locked]) => {
    const { requires, platform } = locked;
    return { cell, locked, declared: { requires, platform, floor: [], base: null } };
  });
  const answer = await auditWanted(subjects, lock, asked, world);
  const again = (cell: string) => (problem: Problem) => ({
    ...problem,
    fix: `adopt the image again, with the toolkit or march of its files: imgmatch adopt ${lock.repository}:${images[cell]?.tag}`,
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

async function auditWanted(
  subjects: readonly AuditSubject[],
  lock: Lock,
  asked: AuditOptions,
  world: World & Examining,
  effects = new Map<string, ImageEffect>(),
): Promise<AuditAnswer> {
  const { remote = false, onEvent } = asked;
  const wanted = subjects.filter(({ locked }) => !remote || locked.digest !== null);
  const cells = await auditImages(wanted, lock, {
    ...{ access: asked, world, onEvent },
    holder: { ...dockerHolder(world.env), ...(remote && { diffIds: null }) },
    onEffect: (cell, effect) => effects.set(cell, effect),
  });
  return {
    schemaVersion: 1,
    cells,
    unpublished: subjects.filter((subject) => !wanted.includes(subject)).map(({ cell }) => cell),
  };
}
