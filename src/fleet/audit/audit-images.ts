/** Opens the images of a lock in turn, and compares files with declarations. */

import { ImgmatchError, type Problem } from "../../errors.ts";
import type { DeclaredImage, ImageEffect } from "../../lock/image-audit.ts";
import type { World } from "../../io/world.ts";
import { repositoryOf } from "../../lock/image-repository.ts";
import type { Lock, LockedImage } from "../../lock/lock.ts";
import type { Measured } from "../../lock/requirement.ts";
import { parseImageReference, withDigest } from "../../oci/reference.ts";
import { registryFor } from "../../oci/registry/registry-access.ts";
import type { RegistryAccess } from "../../oci/registry/registry-flags.ts";
import type { PlannedCell } from "../plan/planned-cell.ts";
import { declaredImage } from "./declared-image.ts";
import type { Examining } from "./image-examiner.ts";
import type { ImageHolder } from "../../oci/engine/built-image.ts";

/** Sent before each image is opened; `done` were opened before. */
export interface AuditEvent {
  readonly type: "image";
  readonly cell: string;
  readonly done: number;
  readonly total: number;
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

export interface AuditSubject {
  readonly cell: string;
  readonly locked: LockedImage;
  readonly declared: DeclaredImage | null;
}

export interface AuditImagesOptions {
  readonly access: RegistryAccess;
  readonly world: Pick<World, "env" | "signal"> & Examining;
  /** Has images that were built and never pushed. */
  readonly holder: ImageHolder;
  readonly onEvent?: ((event: AuditEvent) => void) | undefined;
  readonly onEffect?: (cell: string, effect: ImageEffect) => void;
}

/** An image that cannot be opened does not stop the others. Throws the signal's reason. */
export async function auditImages(
  subjects: readonly AuditSubject[],
  repository: Pick<Lock, "repository">,
  { access, world, holder, onEvent, onEffect }: AuditImagesOptions,
): Promise<readonly AuditedCell[]> {
  const { env, signal = new AbortController().signal } = world;
  const declared = new Map(subjects.map((subject) => [subject.cell, subject.declared]));
  const examine = await world.openAuditor({
    registry: await registryFor(access, world),
    env,
    declared: (cell) => declared.get(cell) ?? null,
    holder,
  });
  const cells: AuditedCell[] = [];
  for (const { cell, locked } of subjects) {
    signal.throwIfAborted();
    onEvent?.({ type: "image", cell, done: cells.length, total: subjects.length });
    const { digest, tag } = locked;
    const name = repositoryOf(repository, locked);
    const image = digest === null ? `${name}:${tag}` : `${name}@${digest}`;
    const where = digest === null ? { id: image, size: null } : withDigest(parseImageReference(name), digest);
    try {
      const {
        effect,
        code: _,
        ...found
      } = await examine({ cell, image: where }, { signal, onLog: () => {} });
      onEffect?.(cell, effect);
      cells.push({ cell, image, ...found, failure: null });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ImgmatchError)) throw error;
      cells.push({ cell, image, measured: null, lies: [], notes: [], failure: error.problems[0] });
    }
  }
  return cells;
}

type CellInLock = PlannedCell & { readonly locked: LockedImage };

export function isBuilt(planned: PlannedCell): planned is CellInLock {
  return planned.locked?.created != null;
}

/** With the lock's declaration, on the bases that it names: the matrix may have another one by now. */
export function auditSubject(planned: CellInLock): AuditSubject {
  const { cell, locked } = planned;
  const known = new Map(locked.bases.map((base) => [base.ref, base]));
  const bases = planned.bases.map(({ ref, used }) => {
    const { digest = null, local } = known.get(used) ?? {};
    return { ref, used, digest, ...(local && { local }) };
  });
  const found = declaredImage({ ...planned, bases });
  const { requires, platform } = locked;
  return { cell: cell.id, locked, declared: found && { ...found, requires, platform } };
}
