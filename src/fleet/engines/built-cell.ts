/** The result of building a cell, and the lock's entry of it. */

import type { Problem } from "../../errors.ts";
import {
  type LocalEngine,
  type Lock,
  type LockedAttestation,
  type LockedCode,
  type LockedImage,
  type LockedManifest,
  lockSchemaVersion,
  type SignatureForm,
} from "../../lock/lock.ts";
import type { Measured } from "../../lock/requirement.ts";
import { type Digest, isDigest } from "../../oci/digest.ts";
import type { StoredBlobs } from "../../lock/lock.ts";
import type { Matrix } from "../matrix/matrix.ts";
import type { BuiltImage } from "../../oci/engine/built-image.ts";
import { guardLine } from "../dockerfile/guard.ts";
import { type ReadyCell, requiredDigest } from "./jobs.ts";

export interface BuiltCell {
  readonly status: "built";
  readonly cell: string;
  readonly inputDigest: Digest;
  /** `built` in the engine only; `pushed`; `adopted`: the registry already had an image of the same inputs. */
  readonly how: "built" | "pushed" | "adopted";
  /** Built here and adopted, though what was built here has other bytes: the build is not reproducible. */
  readonly differs: boolean;
  /** The manifest in the registry; null when it was not pushed. */
  readonly digest: Digest | null;
  /** null also where the registry was not asked. */
  readonly manifest: LockedManifest | null;
  /** null also where the registry was not asked. */
  readonly blobs: StoredBlobs | null;
  /** The engine's time for this image; null where others built it. */
  readonly buildMs: number | null;
  /** null when it was adopted without being built. */
  readonly image: BuiltImage | null;
  /** The needs of its files; null if it was not opened. */
  readonly measured: Measured | null;
  /** Absent if it was not opened. */
  readonly code?: LockedCode | undefined;
  /** Absent if this build did not attest it. */
  readonly attested?: LockedAttestation | undefined;
  /** Absent if this build did not sign it. */
  readonly signed?: readonly SignatureForm[] | undefined;
  readonly warnings: readonly Problem[];
  /** The log file; null when there is none or it is not whole. */
  readonly log: string | null;
  readonly durationMs: number;
}

export interface FailedCell {
  readonly status: "failed";
  readonly cell: string;
  readonly problems: readonly [Problem, ...Problem[]];
  readonly log: string | null;
  readonly durationMs: number;
}

/** Not started, or stopped on the way. */
export interface InterruptedCell {
  readonly status: "interrupted";
  readonly cell: string;
}

export type CellResult = BuiltCell | FailedCell | InterruptedCell;

export interface BuildSummary {
  /** One per cell that was to be built, in the order of the plan. */
  readonly results: readonly CellResult[];
  readonly kept: number;
}

/** In the order of one cell: `start`, any `log`, `push`, any `open`, then one of `done`, `failed`, `interrupted`. */
export type BuildEvent =
  | { readonly type: "start"; readonly cell: string; readonly log: string }
  | { readonly type: "log"; readonly cell: string; readonly line: string }
  | { readonly type: "open"; readonly cell: string }
  | { readonly type: "push"; readonly cell: string; readonly reference: string }
  | (BuiltCell & { readonly type: "done" })
  | (FailedCell & { readonly type: "failed" })
  | { readonly type: "interrupted"; readonly cell: string };

/** The builder as the lock names it, and the local engine that keeps the image, if any. */
export interface Builder {
  readonly described: string;
  readonly localEngine: LocalEngine | null;
}

/** The lock's entry of a cell that was just built. `created` is RFC 3339. */
export function lockEntryOf(
  planned: ReadyCell,
  built: Pick<
    BuiltCell,
    "digest" | "manifest" | "blobs" | "buildMs" | "image" | "measured" | "code" | "attested" | "signed"
  >,
  { described, localEngine }: Builder,
  created: string,
): LockedImage {
  const { cell, tag, inputDigest, bases, inputs } = planned;
  return {
    axes: cell.axes,
    platform: cell.platform,
    ...(cell.settings.repository && { repository: cell.settings.repository.value }),
    tag,
    inputDigest,
    digest: built.digest,
    ...(built.digest === null ? localOf(built.image, localEngine) : {}),
    ...(built.manifest === null ? {} : { manifest: built.manifest }),
    requires: cell.requires,
    ...(cell.deprecated !== undefined && { deprecated: cell.deprecated }),
    ...(isGuarded(planned) && { guard: true }),
    ...(built.measured === null ? {} : { measured: measuredOf(planned, built.measured) }),
    ...(built.attested && { attested: built.attested }),
    ...(built.signed && { signed: built.signed }),
    bases: bases.map(({ used, digest, local, config }) => ({
      ref: used,
      digest: requiredDigest(digest),
      ...(local && { local }),
      ...(config && { config }),
    })),
    ...(inputs === null ? {} : { inputs }),
    builder: described,
    created,
    size: built.image?.size ?? null,
    ...(built.blobs === null ? {} : { blobs: built.blobs }),
    ...(built.code && { code: built.code }),
    ...buildSecondsOf(planned, built.buildMs),
  };
}

function isGuarded({ cell, dockerfile }: ReadyCell): boolean {
  return cell.settings.guard?.value === true && dockerfile.bare.includes(`${guardLine}ENTRYPOINT `);
}

/** A guard asks for every feature that the cell declares, used or not. */
function measuredOf(planned: ReadyCell, measured: Measured): Measured {
  return isGuarded(planned) ? { ...measured, cpu: { ...measured.cpu, unused: [] } } : measured;
}

/** The time of the first build of the inputs that the lock knows: a later push finds every step in the engine's cache. */
function buildSecondsOf({ locked, inputDigest }: ReadyCell, buildMs: number | null) {
  const known = locked?.inputDigest === inputDigest ? locked.buildSeconds : undefined;
  const buildSeconds = known ?? (buildMs === null ? undefined : Math.ceil(buildMs / 1000));
  return buildSeconds === undefined ? {} : { buildSeconds };
}

function localOf(image: BuiltImage | null, localEngine: LocalEngine | null): Pick<LockedImage, "local"> {
  return localEngine !== null && isDigest(image?.id) ? { local: { engine: localEngine, id: image.id } } : {};
}

/** A lock of these images, with what the matrix says of all of them. */
export function lockOf(matrix: Matrix, images: Lock["images"]): Lock {
  return {
    schemaVersion: lockSchemaVersion,
    name: matrix.name,
    version: matrix.version,
    repository: matrix.repository,
    ...(matrix.prefer.length === 0 ? {} : { prefer: matrix.prefer }),
    ...(matrix.plainPull && { plainPull: matrix.plainPull }),
    images,
  };
}

/**
 * The lock with these images more. Images of cells that the matrix no longer builds stay: machines that run them must not lose them because
 * some cell was built; `lock --prune` drops them.
 */
export function withImages(lock: Lock | null, matrix: Matrix, images: Lock["images"]): Lock {
  // Digests are of one repository: what was pushed elsewhere says nothing about this one.
  const known = lock !== null && lock.repository === matrix.repository ? lock : null;
  const { channels, variants, version } = known ?? {};
  return {
    ...lockOf(matrix, { ...known?.images, ...images }),
    ...(channels && { channels }),
    ...(variants && version === matrix.version && { variants }),
  };
}
