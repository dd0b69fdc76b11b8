/** Plans a fleet: compares each cell with the lock, and says build or keep. */

import { InternalError } from "../../errors.ts";
import { repositoryOf } from "../../lock/image-repository.ts";
import type { Lock, LockedImage, LockedInputs } from "../../lock/lock.ts";
import type { Matrix } from "../matrix/matrix.ts";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import type { CellContext } from "../context/cell-context.ts";
import { compareInputs, describeChanges } from "./changes.ts";
import type { Cell } from "../cells/cell.ts";
import { repositoryOfCell } from "../cells/cell-settings.ts";
import type { ExpandedCell } from "../cells/expand.ts";
import type {
  ChangedFiles,
  InputComparison,
  Plan,
  PlannedBase,
  PlannedCell,
  RetiredImage,
} from "./planned-cell.ts";
import { type BuildInputs, inputDigest } from "../cells/input-digest.ts";
import { memoizeBy } from "../cells/memoize-by.ts";
import { type Selection, selectCells } from "../cells/select.ts";
import { compileTag, type TagOf } from "../cells/tag.ts";
import { sortedEntries } from "../../io/collections.ts";
import type { RenderedFile } from "../dockerfile/render-cell.ts";

/** Dockerfile frontend of every build: the one inside the engine's BuildKit. */
const builderName = "dockerfile.v0";

export interface CellSources {
  readonly dockerfile: RenderedFile;
  readonly bases: readonly PlannedBase[];
  /** The bases with the engine's ids, as in the lock, where somebody has pushed them since: the image need not be built again. */
  readonly builtOn?: readonly PlannedBase[];
  readonly context: CellContext;
  readonly changedFiles?: ChangedFiles;
  /** The word of `--no-cache`, or null. */
  readonly rebuild: string | null;
}

export interface PlanCellsOptions {
  readonly lock: Lock | null;
  readonly only?: readonly Selection[];
  /** An image that was built and never pushed counts as not built. */
  readonly published?: boolean | undefined;
  /** An image that was built and not pushed is not built again for a base that has been published since. */
  readonly asBuilt?: boolean;
  /**
   * Ids of the images that the engine has. A cell that was built and not pushed, and is not in the list, is built again. Default: not asked.
   */
  readonly engineHas?: ReadonlySet<string> | undefined;
  /** For the reason of a build under another version than the lock's. */
  readonly namesVersion?: (cell: Cell) => boolean;
}

/**
 * Plans the cells of a matrix, or the cells that `only` selects.
 *
 * @param sources by cell, of every selected cell that can be built
 *
 * Throws `SELECTION_…`.
 *
 * @example
 * const plan = planCells(matrix, expandMatrix(matrix), sources, { lock: null });
 * plan.cells.filter(({ action }) => action === "build").length;
 */
export function planCells(
  matrix: Matrix,
  expanded: readonly ExpandedCell[],
  sources: ReadonlyMap<string, CellSources>,
  options: PlanCellsOptions,
): Plan {
  const { lock, only = [] } = options;
  const { tagOf } = compileTag(matrix);
  const { version } = matrix;
  const cells = selectCells(expanded, only).map((entry) => {
    const { cell, skipped } = entry;
    const locked = lockedImageOf(entry, matrix, lock);
    if (skipped !== null) return planSkipped(cell, skipped, locked);
    const ownSources = sources.get(cell.id);
    if (ownSources === undefined) throw new InternalError(`the plan has no Dockerfile of ${cell.id}`);
    return planCell(cell, ownSources, {
      locked,
      absent: whyAbsent(cell, matrix, lock),
      tagOf,
      version,
      options,
    });
  });
  return {
    matrix,
    versions: new Set(lock === null ? [version] : [version, lock.version]),
    cells,
    retired: only.length > 0 ? [] : findRetired(matrix, expanded, options),
  };
}

function findRetired(
  { repository }: Matrix,
  expanded: readonly ExpandedCell[],
  { lock }: PlanCellsOptions,
): RetiredImage[] {
  if (lock === null || lock.repository !== repository) return [];
  const known = new Set(expanded.map(({ cell }) => cell.id));
  return sortedEntries(lock.images)
    .filter(([cell]) => !known.has(cell))
    .map(([cell, image]) => ({ cell, image }));
}

/** The lock's image of a cell. The lock of another repository says nothing about the images of this one. */
function lockedImageOf(
  { cell, skipped }: ExpandedCell,
  matrix: Matrix,
  lock: Lock | null,
): LockedImage | null {
  const image = lock?.repository === matrix.repository ? lock.images[cell.id] : undefined;
  if (image === undefined) return null;
  return skipped !== null || repositoryOf(matrix, image) === repositoryOfCell(matrix, cell) ? image : null;
}

function whyAbsent({ id }: Cell, { repository }: Matrix, lock: Lock | null): string {
  if (lock !== null && lock.repository !== repository)
    return `the lock is of another repository, ${lock.repository}`;
  const image = lock?.images[id];
  return lock === null || image === undefined
    ? "not in the lock"
    : `the lock has it in another repository, ${repositoryOf(lock, image)}`;
}

function planSkipped(
  cell: Cell,
  { why, reason }: NonNullable<ExpandedCell["skipped"]>,
  locked: LockedImage | null,
): PlannedCell {
  return {
    cell,
    locked,
    action: locked === null ? why : "retired",
    reason: locked === null ? reason : `${why}: ${reason}`,
    tag: locked?.tag ?? null,
    ...{ inputDigest: null, dockerfile: null, context: null, inputs: null, published: null },
    ...{ bases: [], comparison: [], moved: [] },
  };
}

interface Planning {
  readonly locked: LockedImage | null;
  /** Why the lock has no image of it. */
  readonly absent: string;
  readonly tagOf: TagOf;
  /** The matrix's. */
  readonly version: string;
  readonly options: PlanCellsOptions;
}

function planCell(
  cell: Cell,
  sources: CellSources,
  { locked, absent, tagOf, version, options }: Planning,
): PlannedCell {
  const { dockerfile, context, builtOn } = sources;
  const changedFiles = locked === null ? undefined : sources.changedFiles;
  const inputs = inputsOf(sources, cell);
  const digestOn = (bases: readonly PlannedBase[]) => {
    const pinned = pinnedBases(bases);
    return pinned === null ? null : inputDigest({ ...inputs, bases: pinned, platform: cell.platform });
  };
  const isAsBuilt =
    builtOn !== undefined &&
    (options.asBuilt || locked?.digest != null) &&
    digestOn(builtOn) === locked?.inputDigest;
  const bases = isAsBuilt ? builtOn : sources.bases;
  const digest = digestOn(bases);
  const same = locked !== null && locked.inputDigest === digest;
  const comparison =
    locked === null || same ? [] : compareInputs(locked, { ...inputs, bases, platform: cell.platform });
  const reason =
    whyFollows(bases) ??
    whyBuild(digest, { cell, locked, absent, version, comparison, changedFiles }, options);
  const action = reason === null ? "keep" : "build";
  // An image that is kept keeps its tag.
  const tag = action === "keep" ? (locked?.tag ?? null) : tagOf(cell, digest);
  return {
    cell,
    locked,
    action,
    reason,
    inputDigest: digest,
    tag,
    dockerfile,
    context,
    bases,
    inputs,
    comparison,
    ...(changedFiles && { changedFiles }),
    // `withRegistryView` adds them.
    published: null,
    moved: [],
  };
}

/** null if a digest is not known. Thousands of cells share one list. */
const pinnedBases = memoizeBy((bases: readonly PlannedBase[]): BuildInputs["bases"] | null => {
  const pinned = bases.flatMap(({ ref, digest }) => (digest === null ? [] : [{ ref, digest }]));
  return pinned.length === bases.length ? pinned : null;
});

function inputsOf(
  { dockerfile, context, rebuild }: CellSources,
  { settings: { target } }: Cell,
): LockedInputs {
  const inputs = {
    dockerfile: digestOf(dockerfile.bare),
    context: context.digest,
    args: dockerfile.args,
    target: target?.value ?? null,
    builder: builderName,
  };
  return rebuild === null ? inputs : { ...inputs, rebuild };
}

function whyFollows(bases: readonly PlannedBase[]): string | null {
  const waiting = bases.flatMap(({ digest, parent }) =>
    digest === null && parent !== undefined ? [`${parent.cell} of ${parent.matrix}`] : [],
  );
  return waiting.length === 0 ? null : `follows ${waiting.join(", ")}`;
}

function followsVersion({ input, changed }: InputComparison): boolean {
  return changed === true && ["dockerfile", "args", "bases", "target"].includes(input);
}

function whyBuild(
  inputs: Digest | null,
  {
    cell,
    locked,
    absent,
    version,
    comparison,
    changedFiles,
  }: Pick<Planning, "locked" | "absent" | "version"> &
    Pick<PlannedCell, "cell" | "comparison"> & { readonly changedFiles: ChangedFiles | undefined },
  { lock, published = false, engineHas, namesVersion }: PlanCellsOptions,
): string | null {
  if (locked === null) return absent;
  if (inputs === null) return "the digest of a base image is unknown";
  if (locked.inputDigest !== inputs) {
    // Without the parts of its inputs, a lock has platform and bases alone: a list of changes would not be complete.
    const changes = locked.inputs === undefined ? "" : describeChanges(comparison, changedFiles);
    if (changes === "") return "its inputs changed";
    const byVersion = lock?.version !== version && comparison.some(followsVersion) && namesVersion?.(cell);
    return `its inputs changed: ${changes}${byVersion ? ", which names the version" : ""}`;
  }
  if (locked.digest !== null) return null;
  if (locked.created === null) return "not built yet";
  if (published) return "built, but not pushed";
  if (engineHas === undefined || (locked.local !== undefined && engineHas.has(locked.local.id))) return null;
  return locked.local === undefined
    ? "built, but nobody knows where"
    : "built and not pushed, and the engine has it no more";
}
