/** A plan: every cell with the action of the next build. */

import { ImgmatchError } from "../../errors.ts";
import type { LocalEngine, LockedBaseConfig, LockedImage, LockedInputs } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import type { CellContext } from "../context/cell-context.ts";
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

/** Actions on which `plan --check` fails: somebody has to do something. */
export const openActions: readonly Action[] = ["build", "adopt", "stale", "conflict", "retired"];

export interface PlannedCell {
  readonly cell: Cell;
  readonly action: Action;
  /** The changed inputs, the excluding rule, or the hardware that makes the cell impossible; null for `keep`. */
  readonly reason: string | null;
  /** null while a base image's digest is unknown, and for impossible and excluded cells. */
  readonly inputDigest: Digest | null;
  /** null if it needs an {@link inputDigest} that is null. An impossible or excluded cell has the lock's, if any. */
  readonly tag: string | null;
  /** null for impossible and excluded cells. */
  readonly dockerfile: RenderedFile | null;
  /** The files for the engine; null for impossible and excluded cells. */
  readonly context: CellContext | null;
  readonly bases: readonly PlannedBase[];
  /** The other inputs, as the lock records them; null for impossible and excluded cells. */
  readonly inputs: LockedInputs | null;
  readonly takesOver?: TakenImage;
  /** The lock's entry of this cell. */
  readonly locked: LockedImage | null;
  /** Each input beside the lock's; empty if the cell is not in the lock, or nothing changed. */
  readonly comparison: readonly InputComparison[];
  /** Of the context, where somebody knows the files of then. */
  readonly changedFiles?: ChangedFiles;
  /** The digest of the tag in the registry; null if it was not asked or has no such tag. */
  readonly published: Digest | null;
  /** Bases whose reference means another image now. Empty if registries were not asked. */
  readonly moved: readonly MovedBase[];
}

/** The image of equal inputs that an index names: it is taken over by its digest. */
export interface TakenImage {
  readonly digest: Digest;
  /** A trusted signer has signed the index. */
  readonly isVouched: boolean;
}

export interface MovedBase {
  readonly ref: string;
  readonly from: Digest;
  readonly to: Digest;
}

/** An image of the lock whose cell is no longer in the matrix. */
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
  /** null if neither the reference, the lock nor a registry has it. For a `local` base, the engine's id of the image. */
  readonly digest: Digest | null;
  /** The engine that has a base which no registry has. */
  readonly local?: LocalEngine;
  /** The cell of another fleet that is the base. `digest` is null until it is built. */
  readonly parent?: PlannedParent;
  /** Absent if it was not read. */
  readonly config?: LockedBaseConfig;
}

/** A cell that another fleet builds. */
export interface PlannedParent {
  /** The path of the parent's matrix, as this fleet's matrix writes it. */
  readonly matrix: string;
  /** Its id. */
  readonly cell: string;
}

export interface Plan {
  readonly matrix: Matrix;
  /** The lock is written while it has one of these versions: the matrix's, or, until the first write, the one that it had for the plan. */
  readonly versions: Set<string>;
  readonly cells: readonly PlannedCell[];
  /** Sorted by cell; empty if only some cells were planned. They stay in the lock until somebody prunes it. */
  readonly retired: readonly RetiredImage[];
}

/** Finds a cell by its id in a plan, or in a fleet. Throws `CELL_NOT_FOUND`. */
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

export type InputName = (typeof inputNames)[number];

/** One input, in the lock (`was`) and now (`is`): a digest, a text, or null for none. */
export interface InputComparison {
  readonly input: InputName;
  /** The name of an argument, or the reference of a base; null for inputs of which there is one. */
  readonly name: string | null;
  readonly was: string | null;
  readonly is: string | null;
  /** null if the lock does not have the input. */
  readonly changed: boolean | null;
}

/** Paths in the context, each list sorted. */
export interface ChangedFiles {
  readonly added: readonly string[];
  /** In content, kind or mode. */
  readonly changed: readonly string[];
  readonly removed: readonly string[];
}
