/** Finds the differences between the index of a version and a fleet, before anything is built for it. */

import pLimit from "p-limit";
import { faultOf, ImgmatchError, type Problem } from "../../errors.ts";
import type { Digest } from "../../oci/digest.ts";
import {
  formatImageReference,
  type ImageReference,
  parseImageReference,
  withDigest,
  withTag,
} from "../../oci/reference.ts";
import { compareFirst, groupBy } from "../../io/collections.ts";
import { count } from "../../io/table.ts";
import type { Matrix } from "../matrix/matrix.ts";
import type { Action, Plan, PlannedCell } from "../plan/planned-cell.ts";
import { variantGroups } from "../cells/groups.ts";
import { versionTag } from "../cells/tag.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { RegistryError } from "../../oci/registry/registry-error.ts";
import type { Lock } from "../../lock/lock.ts";
import {
  type FleetIndex,
  type IndexedImage,
  type IndexEntry,
  indexedImage,
  sameImage,
} from "../../lock/fleet-index.ts";
import type { DescribeRequest } from "./describe-images.ts";
import { lackedCells } from "./index-lacks.ts";
import { platformDigest } from "../../oci/registry/platform-image.ts";
import {
  digestsWithoutCell,
  parseFleetIndex,
  readFleetIndex,
  type StoredIndex,
} from "../../lock/store/read-fleet-index.ts";

/** For what `--only` would leave in the index. */
export const replaceAll =
  "replace the whole index on purpose with --replace-index and without --only: imgmatch names the cells of others, and drops them";
const raise =
  "raise the version, or replace it on purpose with --replace-index: with --only CELL the index keeps all other cells; without --only it drops the cells that are not published now";
const replace = `find out who wrote this tag, and ${replaceAll}`;

function conflict(reference: ImageReference, says: string, fix = raise): Problem {
  return { code: "INDEX_CONFLICT", message: `${formatImageReference(reference)} ${says}`, fix };
}

/** What the index says of a cell. */
interface Difference {
  readonly cell: string;
  readonly says: string;
  /** What all cells of one problem share. */
  readonly cause: string;
}

const mostListed = 20;

/** One problem for all cells of a cause. */
function conflictsOf(reference: ImageReference, found: readonly Difference[], fix: string): Problem[] {
  return [...groupBy(found, ({ cause }) => cause)].map(([cause, alike]) => {
    const [{ cell, says } = { cell: "", says: "" }, ...others] = alike;
    if (others.length === 0) return conflict(reference, `has ${cell} as ${says}`, fix);
    const lines = alike.slice(0, mostListed).map((each) => `    ${each.cell}: ${each.says}`);
    const more = alike.length - lines.length;
    const details = more === 0 ? lines : [...lines, `    and ${more} more`];
    return { ...conflict(reference, `has ${count(alike.length, "cell")} ${cause}`, fix), details };
  });
}

export interface CurrentIndex {
  readonly digest: Digest;
  readonly index: FleetIndex;
  /** Its entries could not be read: it counts as empty. */
  readonly isDamaged?: true;
}

/**
 * null where there is no such tag. Throws `INDEX_CONFLICT` if the tag holds anything but an index by imgmatch, and `INDEX_FORMAT` if the
 * index has another format. `replace`: a damaged one is read as empty.
 */
export async function readCurrentIndex({
  registry,
  reference,
  replace = false,
}: Pick<DescribeRequest, "registry" | "reference"> & {
  readonly replace?: boolean;
}): Promise<CurrentIndex | null> {
  const stored = await readFleetIndex(registry, reference).catch((error: unknown) => {
    if (!(error instanceof ImgmatchError) || error.code !== "INDEX_INVALID") throw error;
    throw new ImgmatchError({
      code: "INDEX_CONFLICT",
      message: `${formatImageReference(reference)} is taken: ${error.problems[0].message}`,
      fix: "raise the version, or give the images another tag template or registry",
    });
  });
  if (stored === null) return null;
  try {
    return { digest: stored.top.digest, index: parseFleetIndex(stored, reference) };
  } catch (error) {
    // A damaged index of imgmatch stops everything but a replacement.
    if (!replace || !(error instanceof ImgmatchError)) throw error;
    const index = { name: "", version: "", repository: null, tag: null, prefer: [], entries: new Map() };
    return { digest: stored.top.digest, index, isDamaged: true };
  }
}

/** An `INDEX_CONFLICT` for all cells of which the two say different things in the same way. */
export function indexConflicts(
  current: FleetIndex,
  mine: Pick<FleetIndex, "prefer"> & {
    readonly entries: ReadonlyMap<string, { readonly image: IndexedImage }>;
  },
  reference: ImageReference,
  fix = raise,
): Problem[] {
  const entries = [...mine.entries].sort(compareFirst);
  const found = entries.flatMap(([cell, { image }]): Difference[] => {
    const theirs = current.entries.get(cell)?.image;
    if (theirs === undefined || sameImage(theirs, image)) return [];
    const { digest } = theirs;
    return digest === image.digest
      ? [{ cell, says: `${digest} ${otherwise}`, cause: otherwise }]
      : [{ cell, says: `${digest}; the lock has ${image.digest}`, cause: "with other images than the lock" }];
  });
  const problems = conflictsOf(reference, found, fix);
  if (current.prefer.join() !== mine.prefer.join()) {
    const [theirs, ours] = [current, mine].map(({ prefer }) => prefer.join(", ") || "nothing");
    problems.push(conflict(reference, `prefers ${theirs}, the matrix ${ours}`, fix));
  }
  return problems;
}

const otherwise = "with other requirements, measurements, axes or tag";

/**
 * One `INDEX_CONFLICT` for every cell whose descriptor names another image than its annotations. Runtimes go by the descriptor. The index may
 * name the image itself, or the image's manifest for the platform.
 */
export async function misnamedImages(
  entries: readonly (readonly [cell: string, entry: IndexEntry])[],
  reference: ImageReference,
  registry: Pick<RegistryClient, "readManifest">,
): Promise<Problem[]> {
  const limit = pLimit(16);
  const problems = await limit.map(entries, async ([cell, { image, descriptor }]): Promise<Problem[]> => {
    if (descriptor.digest === image.digest) return [];
    const outer = await registry.readManifest(withDigest(reference, image.digest));
    if (outer !== null && platformDigest(outer, image.platform) === descriptor.digest) return [];
    const says = `names ${descriptor.digest} for ${cell}, whose image is ${image.digest}`;
    return [conflict(reference, says, replace)];
  });
  return problems.flat();
}

/** One `INDEX_CONFLICT` for every entry that is no cell's: a runtime may take it all the same. */
export function strangers(stored: StoredIndex, reference: ImageReference): Problem[] {
  return digestsWithoutCell(stored, reference).map((digest) =>
    conflict(reference, `names ${digest}, which is no cell's image`, replace),
  );
}

/**
 * Problems that `publishPlanIndex` will have once the plan is built, as far as they can be known before: an image of other inputs is
 * another image. Of the version's index and of each variant's. Throws `INDEX_CONFLICT` if such a tag is no index, and errors of the
 * registry.
 *
 * @param published the lock: a cell that is published by the lock and that an index lacks is `INDEX_INCOMPLETE`
 */
export async function planIndexConflicts(
  plan: Plan,
  registry: RegistryClient,
  published: Pick<Lock, "version"> | null = null,
): Promise<Problem[]> {
  const { matrix, cells } = plan;
  const built = cells.filter(({ action }) => action === "build" || isKept(action));
  // A lock of another version says nothing about the index of this one.
  const isOfLock = published?.version === matrix.version;
  const variants = variantGroups(
    matrix,
    built.map((planned) => ({ ...planned.cell, planned })),
  );
  const found = await conflictsWith(versionTag(matrix), cells, matrix, registry, isOfLock);
  // A conflict with the version is one with its variant too.
  if (found.some(({ code }) => code === "INDEX_CONFLICT")) return found;
  for (const { name, members } of variants) {
    const own = members.map(({ planned }) => planned);
    found.push(...(await conflictsWith(name, own, matrix, registry, isOfLock)));
  }
  return found;
}

/** A moved base makes a kept cell stale. */
function isKept(action: Action): boolean {
  return action === "keep" || action === "stale";
}

async function conflictsWith(
  name: string,
  cells: readonly PlannedCell[],
  matrix: Matrix,
  registry: RegistryClient,
  isOfLock: boolean,
): Promise<Problem[]> {
  const reference = withTag(parseImageReference(matrix.repository), name);
  const current = await readCurrentIndex({ registry, reference });
  if (current === null) return [];
  const entries = new Map<string, { readonly image: IndexedImage }>();
  const changed: Difference[] = [];
  for (const { cell, action, reason, locked, inputDigest } of cells) {
    const theirs = current.index.entries.get(cell.id)?.image;
    if (theirs === undefined) continue;
    const mine = action === "keep" && locked !== null ? indexedImage(locked) : null;
    if (mine !== null) entries.set(cell.id, { image: mine });
    else if (inputDigest !== null && inputDigest !== theirs.inputDigest && action !== "keep") {
      const says = `${theirs.digest} of inputs ${theirs.inputDigest}; this plan has inputs ${inputDigest}`;
      changed.push({ cell: cell.id, says, cause: `of other inputs than this plan (${reason})` });
    }
  }
  const kept = cells.filter(
    ({ action, locked }) => isKept(action) && locked !== null && locked.digest !== null,
  );
  return [
    ...indexConflicts(current.index, { prefer: matrix.prefer, entries }, reference),
    ...conflictsOf(reference, changed, raise),
    ...(isOfLock
      ? lackedCells(
          current.index,
          kept.map(({ cell }) => cell.id),
          reference,
        )
      : []),
  ];
}

const beforePush =
  "raise the version of the matrix; or, to give this version other images on purpose, as for a rebuild on newer bases, give --replace-index to build --push and to publish, both with the same --only";

/**
 * The conflicts of a push without an index. None where the version's tag is no index, which then has no
 * publisher. A registry that does not answer stops no build: `tell` gets a line.
 */
export async function pushConflicts(
  plan: Plan,
  connect: () => Promise<RegistryClient>,
  tell: (line: string) => void,
): Promise<readonly Problem[]> {
  if (!plan.cells.some(({ action }) => action === "build")) return [];
  try {
    const found = await withoutTaken(planIndexConflicts(plan, await connect()));
    return found.map((problem) => ({ ...problem, fix: beforePush }));
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    tell(`whether an index of ${plan.matrix.version} is published is not known: ${faultOf(error)}`);
    return [];
  }
}

/** No conflicts where the version's tag is no index: then nobody publishes one there. */
export async function withoutTaken(conflicts: Promise<Problem[]>): Promise<Problem[]> {
  return conflicts.catch((error: unknown) => {
    if (error instanceof ImgmatchError && error.code === "INDEX_CONFLICT") return [];
    throw error;
  });
}
