/** Writes the index of a version from a plan, from a lock, or from another version. */

import { ImgmatchError, type Problem, throwProblems, usageError } from "../../errors.ts";
import type { Lock, LockedImage } from "../../lock/lock.ts";
import {
  formatImageReference,
  type ImageReference,
  parseImageReference,
  withTag,
} from "../../oci/reference.ts";
import type { Plan, PlannedCell } from "../plan/planned-cell.ts";
import { variantGroups } from "../cells/groups.ts";
import { versionTag } from "../cells/tag.ts";
import { bringImages, type CopyImageOptions } from "./copy-image.ts";
import { plainImages } from "../../resolve/shown-images.ts";
import type { ManifestDescriptor } from "../../oci/descriptor.ts";
import { type FleetIndex, type IndexedImage, indexedImage } from "../../lock/fleet-index.ts";
import { indexConflicts, readCurrentIndex } from "./index-conflicts.ts";
import { type IndexRequest, type PublishedIndex, publishIndex } from "./publish-index.ts";

export interface PlanIndexOptions extends CopyImageOptions, Pick<IndexRequest, "vouching"> {
  /** Write over what the index says otherwise. */
  readonly replace?: boolean;
  /** The images are those of `--only`: `replace` concerns these cells, and the index keeps its other rows. */
  readonly isPart?: boolean;
}

export interface PlanIndex {
  /** The reference of the index: the repository with the version as tag. */
  readonly reference: ImageReference;
  /** Cells of the plan that are not published as the matrix says. */
  readonly missing: readonly string[];
  /** Build arguments that missing cells have otherwise in the lock: the cells were built with arguments that this plan lacks. */
  readonly otherArgs?: readonly string[];
  readonly published: PublishedIndex;
  /** The variants of the matrix, each with its own index. */
  readonly variants?: readonly Omit<PlanIndex, "variants" | "otherArgs">[];
}

/**
 * Publishes the index of every image that the plan keeps and the registry has. Images that are not built yet are left out and
 * named: an index must not say of an image what the matrix no longer says.
 * Images of other repositories are copied into the fleet's first. The index of each variant is written after that of the version.
 * Throws as `publishIndex` does, `TAG_COLLISION` when an image has the version alone as its tag.
 */
export async function publishPlanIndex(plan: Plan, options: PlanIndexOptions): Promise<PlanIndex> {
  const { matrix, cells } = plan;
  const reference = withTag(parseImageReference(matrix.repository), versionTag(matrix));
  const kept: [string, LockedImage][] = [];
  const missing: string[] = [];
  const otherArgs = [...new Set(cells.flatMap(argumentsOtherwise))].sort();
  for (const { cell, action, locked } of cells) {
    if (action === "keep" && locked !== null && locked.digest !== null) kept.push([cell.id, locked]);
    else if (action === "keep" || action === "build") missing.push(cell.id);
  }
  const named = namedImages(kept, reference, "put {{cell}} into the tag template");
  if (kept.length === 0) {
    throw new ImgmatchError({
      code: "SELECTION_EMPTY",
      message: "no image of these cells is published, so the index would be empty",
      fix: `run imgmatch build --push${sameArguments(otherArgs)}`,
    });
  }
  const brought = kept.map(([, image]) => image);
  await bringImages(matrix, brought, options);
  const all = cells.map(({ cell }) => cell.id);
  const index = await writeIndex(matrix, reference, named, all, options);
  const members = kept.map(([id, image]) => ({ ...image, id }));
  const variants: PlanIndex[] = [];
  for (const variant of variantGroups(matrix, members)) {
    const own = withTag(reference, variant.name);
    const locked = variant.members.map(({ id, ...image }) => [id, image] as const);
    const images = namedImages(locked, own, "give the variant another name");
    variants.push(await writeIndex(matrix, own, images, all, { ...options, show: plainImages }));
  }
  return { ...index, missing, otherArgs, variants };
}

async function writeIndex(
  { name, version, prefer = [], plainPull }: Pick<IndexRequest, "name" | "version" | "prefer" | "plainPull">,
  reference: ImageReference,
  images: Pick<IndexRequest, "images" | "manifests">,
  /** Of what the images are a part: `--only` may take the row of one without an image away. */
  cells: readonly string[],
  { isPart = false, replace = false, ...options }: PlanIndexOptions & Pick<IndexRequest, "show">,
): Promise<PlanIndex> {
  const head = { reference, name, version, prefer, plainPull };
  const request = { ...options, ...images, ...head, replace: replace && isPart ? new Set(cells) : replace };
  return { reference, missing: [], published: await publishIndex(request) };
}

function argumentsOtherwise({ action, comparison }: PlannedCell): readonly string[] {
  if (action !== "build") return [];
  return comparison.flatMap(({ input, name, changed }) =>
    input === "args" && changed === true && name !== null ? [name] : [],
  );
}

/** For the fix of what is missing: a build argument that was given once is to be given again. */
export function sameArguments(names: readonly string[] = []): string {
  return names.length === 0
    ? ""
    : `, or give the build arguments that the lock's images were built with: --build-arg ${names.join(", ")}`;
}

/** Writes the index from a lock alone: for images that were built elsewhere, without a matrix. */
export async function publishAdopted(lock: Lock, options: PlanIndexOptions): Promise<PlanIndex> {
  const reference = withTag(parseImageReference(lock.repository), versionTag(lock));
  const fix = "give the lock another version: imgmatch adopt --fleet-version";
  const images = namedImages(Object.entries(lock.images), reference, fix);
  await bringImages(lock, Object.values(lock.images), options);
  return writeIndex(lock, reference, images, Object.keys(lock.images), options);
}

/**
 * Writes the index of version `to` with exactly the images of `from`, which keep their tags and digests. Throws `INDEX_CONFLICT` where
 * that version's index says otherwise of a cell or has another, unless `replace`; and as `publishPlanIndex` does.
 */
export async function promoteIndex(from: Lock, to: string, options: PlanIndexOptions): Promise<PlanIndex> {
  const reference = withTag(parseImageReference(from.repository), versionTag({ version: to }));
  if (versionTag(from) === reference.tag)
    throw usageError(`${to} is its present version`, "name the new version");
  // Their manifests are asked for: what the lock has of them is what the index says.
  const { images } = namedImages(Object.entries(from.images), reference, "promote it to another version");
  const { registry, replace = false } = options;
  const current = replace ? null : await readCurrentIndex({ registry, reference });
  if (current !== null) {
    const entries = new Map([...images].map(([cell, image]) => [cell, { image }]));
    const mine = { prefer: from.prefer ?? [], entries };
    throwProblems([
      ...foreignCells(current.index, from, reference),
      ...indexConflicts(current.index, mine, reference, promoteElsewhere),
    ]);
  }
  return writeIndex({ ...from, version: to }, reference, { images }, [...images.keys()], options);
}

const promoteElsewhere =
  "promote to another version, or replace the index on purpose with --replace-index, which names what it drops";

/** Cells by which the new version would differ from the version that was tried. */
function foreignCells(
  { entries }: FleetIndex,
  { images, version }: Lock,
  reference: ImageReference,
): Problem[] {
  return [...entries.keys()]
    .filter((cell) => images[cell] === undefined)
    .map((cell) => ({
      code: "INDEX_CONFLICT",
      message: `${formatImageReference(reference)} has ${cell}, and ${version} does not`,
      fix: promoteElsewhere,
    }));
}

/** The lock's images that a registry has, as an index names them. Throws `TAG_COLLISION` if one has the index's tag. */
export function namedImages(
  locked: readonly (readonly [cell: string, image: LockedImage])[],
  { tag }: ImageReference,
  fix: string,
): Pick<IndexRequest, "images" | "manifests"> {
  const images = new Map<string, IndexedImage>();
  const manifests = new Map<string, ManifestDescriptor>();
  for (const [cell, image] of locked) {
    const message = `the image of ${cell} has the tag ${tag}, which is the index's`;
    if (image.tag === tag) throw new ImgmatchError({ code: "TAG_COLLISION", message, fix });
    const named = indexedImage(image);
    if (named === null) continue;
    images.set(cell, named);
    if (image.manifest !== undefined) manifests.set(cell, { ...image.manifest, digest: named.digest });
  }
  return { images, manifests };
}
