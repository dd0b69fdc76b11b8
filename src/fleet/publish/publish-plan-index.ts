/** A plan's images → the index of their version. */

import { ImgmatchError } from "../../errors.ts";
import type { Lock, LockedImage } from "../../lock/lock.ts";
import { type ImageReference, parseImageReference, withTag } from "../../oci/reference.ts";
import type { Plan, PlannedCell } from "../plan/planned-cell.ts";
import { variantGroups } from "../cells/groups.ts";
import { versionTag } from "../cells/tag.ts";
import { bringImages } from "./copy-image.ts";
import { plainImages } from "./native-images.ts";
import type {
  BlobCopier,
  ManifestDescriptor,
  ReferrersReader,
  RegistryClient,
} from "../../oci/registry/client.ts";
import { type IndexedImage, indexedImage } from "../../lock/fleet-index.ts";
import { type IndexRequest, type PublishedIndex, publishIndex, type Vouching } from "./publish-index.ts";

export interface PlanIndexOptions {
  readonly registry: RegistryClient & BlobCopier & ReferrersReader;
  readonly replace?: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly settleMs?: number;
  readonly vouching?: Vouching | undefined;
}

export interface PlanIndex {
  /** The reference of the index: the repository with the version as tag. */
  readonly reference: ImageReference;
  /** Cells of the plan that are not published as the matrix says. */
  readonly missing: readonly string[];
  /** Build arguments that missing cells have otherwise in the lock: they were built with them, and this plan is without. */
  readonly otherArgs?: readonly string[];
  readonly published: PublishedIndex;
  /** Of the matrix, each with its own index. */
  readonly variants?: readonly Omit<PlanIndex, "variants" | "otherArgs">[];
}

/**
 * Publishes the index of every image that the plan keeps and the registry has. Images that are not built yet are left out and
 * named: an index must not say of an image what the matrix no longer says.
 * Images of other repositories are copied into the fleet's first. The index of each variant follows that of the version, so that whoever finds the one finds the other.
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
  const images = namedImages(kept, reference, "put {{cell}} into the tag template");
  if (kept.length === 0) {
    throw new ImgmatchError({
      code: "SELECTION_EMPTY",
      message: "no image of these cells is published, so the index would be empty",
      fix: `run imgmatch build --push${sameArguments(otherArgs)}`,
    });
  }
  await bringImages(
    matrix,
    kept.map(([, image]) => image),
    options,
  );
  const { name, version, prefer, plainPull } = matrix;
  const request = { ...options, name, version, prefer, plainPull };
  const published = await publishIndex({ ...request, ...images, reference });
  const members = kept.map(([id, image]) => ({ ...image, id }));
  const variants: PlanIndex[] = [];
  for (const variant of variantGroups(matrix, members)) {
    const own = withTag(reference, variant.name);
    const named = namedImages(
      variant.members.map(({ id, ...image }) => [id, image]),
      own,
      "give the variant another name",
    );
    const written = await publishIndex({ ...request, ...named, reference: own, show: plainImages });
    variants.push({ reference: own, missing: [], published: written });
  }
  return { reference, missing, otherArgs, published, variants };
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

/** The same from a lock alone: for images that others built, of which there is no matrix. */
export async function publishAdopted(lock: Lock, options: PlanIndexOptions): Promise<PlanIndex> {
  const { name, version, prefer = [], plainPull } = lock;
  const reference = withTag(parseImageReference(lock.repository), versionTag(lock));
  const fix = "give the lock another version: imgmatch adopt --fleet-version";
  const images = namedImages(Object.entries(lock.images), reference, fix);
  await bringImages(lock, Object.values(lock.images), options);
  const published = await publishIndex({
    ...options,
    ...images,
    reference,
    name,
    version,
    prefer,
    plainPull,
  });
  return { reference, missing: [], published };
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
