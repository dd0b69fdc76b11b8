/** A plan as data: every cell with what would happen to it. */

import { ImgmatchError } from "../../errors.ts";
import type { LocalEngine, LockedBaseConfig, LockedImage, LockedInputs } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import type { CellContext } from "../dockerfile/cell-context.ts";
import type { Cell } from "../cells/cell.ts";
import type { RenderedFile } from "../dockerfile/render-cell.ts";
import type { Matrix } from "../matrix/matrix.ts";

/** `adopt`, `stale` and `conflict` only where registries were asked: see `withRegistryView`. */
export const actions = [
  "build",
  "adopt",
  "keep",
  "stale",
  "conflict",
  "retired",
  "impossible",
  "excluded",
] as const;

export type Action = (typeof actions)[number];

/** Actions that leave something to be done by somebody: what `plan --check` fails on. */
export const openActions: readonly Action[] = ["build", "adopt", "stale", "conflict", "retired"];

export interface PlannedCell {
  readonly cell: Cell;
  readonly action: Action;
  /** Why: the inputs that changed, the rule that excludes it, the hardware that forbids it; null for `keep`. */
  readonly reason: string | null;
  /** null while a base image's digest is unknown, and for cells that are not to be built. */
  readonly inputDigest: Digest | null;
  /** null as {@link inputDigest}, unless the tag template does without `{{inputs}}`. */
  readonly tag: string | null;
  /** null for cells that are not to be built. */
  readonly dockerfile: RenderedFile | null;
  /** The files for the engine; null for cells that are not to be built. */
  readonly context: CellContext | null;
  readonly bases: readonly PlannedBase[];
  /** The other inputs, as the lock records them; null for cells that are not to be built. */
  readonly inputs: LockedInputs | null;
  /** The lock's entry of this cell. */
  readonly locked: LockedImage | null;
  /** Each input beside what the lock says of it; empty where the lock says nothing, or nothing changed. */
  readonly comparison: readonly InputComparison[];
  /** The digest that the registry has under the tag, if it was asked and has one. */
  readonly published: Digest | null;
  /** Bases whose reference means another image now, where registries were asked. */
  readonly moved: readonly MovedBase[];
}

export interface MovedBase {
  readonly ref: string;
  readonly from: Digest;
  readonly to: Digest;
}

/** An entry of the lock for a cell that the matrix does not have any more. */
export interface RetiredImage {
  /** Cell id. */
  readonly cell: string;
  readonly image: LockedImage;
}

export interface PlannedBase {
  /** As the Dockerfile names it. */
  readonly ref: string;
  /** The reference that is pulled in its place; the same unless the user replaced it. */
  readonly used: string;
  /** null when neither the reference, the lock nor a registry tells. Of a `local` base the engine's id of the image. */
  readonly digest: Digest | null;
  /** Only of a base that no registry has: the engine that has it. */
  readonly local?: LocalEngine;
  /** Only of a base that is a cell of another fleet: `digest` is null until that is built. */
  readonly parent?: PlannedParent;
  /** Absent where nobody has read it. */
  readonly config?: LockedBaseConfig;
}

/** A cell that another fleet builds. */
export interface PlannedParent {
  /** The other fleet's matrix, as this one writes it. */
  readonly matrix: string;
  /** Its id. */
  readonly cell: string;
}

export interface Plan {
  readonly matrix: Matrix;
  readonly cells: readonly PlannedCell[];
  /** By cell. Empty where only some cells were planned. They stay in the lock until somebody prunes it. */
  readonly retired: readonly RetiredImage[];
}

/** Of a plan, or of cells that are not planned yet. Throws `CELL_NOT_FOUND`. */
export function findPlanned<Found extends { readonly cell: Cell }>(
  { cells, matrix }: { readonly cells: readonly Found[]; readonly matrix: Pick<Matrix, "file"> },
  id: string,
): Found {
  const found = cells.find(({ cell }) => cell.id === id);
  if (found !== undefined) return found;
  throw new ImgmatchError({
    code: "CELL_NOT_FOUND",
    message: `${matrix.file} has no cell ${JSON.stringify(id)}`,
    fix: "imgmatch plan lists the cells",
  });
}

const inputNames = [
  "dockerfile",
  "context",
  "args",
  "target",
  "platform",
  "bases",
  "builder",
  "rebuild",
] as const;

/** One input of an image, then and now. */
export type InputName = (typeof inputNames)[number];

/** One input, then and now: a digest, a text, or null where there is none. */
export interface InputComparison {
  readonly input: InputName;
  /** The argument, or the base image's reference; null where there is one of its kind. */
  readonly name: string | null;
  readonly was: string | null;
  readonly is: string | null;
  /** null when the lock does not say what it was. */
  readonly changed: boolean | null;
}
