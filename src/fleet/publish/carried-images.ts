/**
 * Takes over images that the registry has already, by their digests: a new version keeps the lock's images, and a build whose lock lacks a cell
 * takes the image that the version's index names. A label of an image, which anybody can write, decides nothing here.
 */

import pLimit from "p-limit";
import { ImgmatchError, usageError } from "../../errors.ts";
import type { IndexedImage } from "../../lock/fleet-index.ts";
import { count, firstOf } from "../../io/table.ts";
import { placeOf } from "../../lock/image-repository.ts";
import type { Lock } from "../../lock/lock.ts";
import { type FetchOptions, fetchFleet } from "../../lock/store/fetch-lock.ts";
import { requirePlace } from "../../lock/store/index-place.ts";
import type { FindTrust } from "../../lock/store/index-trust.ts";
import type { Digest } from "../../oci/digest.ts";
import { parseImageReference, withDigest, withTag } from "../../oci/reference.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { RegistryError } from "../../oci/registry/registry-error.ts";
import { repositoryOfCell } from "../cells/cell-settings.ts";
import { compileTag, versionTag } from "../cells/tag.ts";
import type { Matrix } from "../matrix/matrix.ts";
import type { Plan, PlannedCell } from "../plan/planned-cell.ts";
import { readCurrentIndex } from "./index-conflicts.ts";

const atOnce = 16;

type Manifests = Pick<RegistryClient, "findManifest">;

/** Images by cell. */
export type Carried = ReadonlyMap<string, Pick<IndexedImage, "digest" | "inputDigest" | "tag">>;

export interface CarryOptions {
  /** What the plan was compared with. */
  readonly lock: Pick<Lock, "version"> | null;
  /** The version's index is to be written. */
  readonly index: boolean;
  readonly ask: () => Promise<RegistryClient>;
  /** The images of an older version, whose signed index was judged. */
  readonly older?: Carried;
}

export interface CarriedPlan {
  readonly plan: Plan;
  /** Digests of the lock that the registry has no more, by cell. */
  readonly gone: ReadonlyMap<string, Digest>;
}

/**
 * The plan by what the registry has. An image of the lock that a version takes over and that is gone is built. A cell to build takes over the
 * image of equal inputs from the version's index, else from `older`. Throws `REGISTRY_…`.
 */
export async function takeOverImages(
  plan: Plan,
  { lock, index, ask, older = new Map() }: CarryOptions,
): Promise<CarriedPlan> {
  const isOther = lock !== null && lock.version !== plan.matrix.version;
  if (!index && !isOther && !plan.cells.some(({ action }) => action === "build"))
    return { plan, gone: new Map() };
  const registry = await ask();
  const named = await namedImages(plan, registry, index);
  const gone = index || isOther ? await goneImages(plan, registry, named) : new Map<string, Digest>();
  const known = await withTakenOver(withoutGone(plan, gone), named, registry);
  // What the version names already is not taken from an older one.
  return { plan: await withTakenOver(known, older, registry, true), gone };
}

/**
 * The images of an older version. Its index must be signed by a trusted signer and written for its place: without a lock nothing else tells
 * whose the images are. Throws `USAGE` without a demand, `INDEX_NOT_FOUND`, `INDEX_FOREIGN`, `SIGNATURE_…`, `REGISTRY_…`.
 */
export async function signedImages(
  { repository }: Pick<Matrix, "repository">,
  version: string,
  trust: FindTrust | null,
  fetching: Pick<FetchOptions, "connect" | "tell">,
): Promise<Carried> {
  const reference = withTag(parseImageReference(repository), versionTag({ version }));
  if (!(await trust?.(reference))?.asksSignature)
    throw usageError(
      `--take-over ${version} believes a signed index alone, and nobody says who signs`,
      "name the signer with --key, --identity or a policy (--trust)",
    );
  const { lock, ...place } = await fetchFleet(reference, { ...fetching, trust });
  requirePlace(reference, place);
  return new Map(
    Object.entries(lock.images).flatMap(([cell, { digest, inputDigest, tag }]) =>
      digest === null ? [] : [[cell, { digest, inputDigest, tag }] as const],
    ),
  );
}

/** The images of the version's index; none where there is no such index, or, unless it is to be written, where nobody can tell. */
async function namedImages({ matrix }: Plan, registry: RegistryClient, mustKnow: boolean): Promise<Carried> {
  const reference = withTag(parseImageReference(matrix.repository), versionTag(matrix));
  const current = await readCurrentIndex({ registry, reference }).catch((error: unknown) => {
    // Whoever writes the index is told that the tag is taken.
    const isNone = error instanceof ImgmatchError && error.code.startsWith("INDEX_");
    if (isNone || (!mustKnow && error instanceof RegistryError)) return null;
    throw error;
  });
  return new Map([...(current?.index.entries ?? [])].map(([cell, { image }]) => [cell, image]));
}

/** One request (HEAD) for each kept image that the index does not name. */
async function goneImages(
  { matrix, cells }: Plan,
  registry: Manifests,
  named: Carried,
): Promise<CarriedPlan["gone"]> {
  const kept = cells.flatMap(({ cell, action, locked }) => {
    const digest = action === "keep" ? locked?.digest : null;
    return locked === null || !digest || named.get(cell.id)?.digest === digest
      ? []
      : [{ cell: cell.id, digest, place: placeOf(matrix, locked) }];
  });
  const found = await pLimit(atOnce).map(kept, async ({ cell, digest, place }) => {
    const manifest = await registry.findManifest(withDigest(place, digest));
    return manifest === null ? [[cell, digest] as const] : [];
  });
  return new Map(found.flat());
}

export function goneNotes(gone: CarriedPlan["gone"]): readonly string[] {
  if (gone.size === 0) return [];
  const cells = firstOf([...gone.keys()].sort(), 20);
  return [
    `the registry has ${count(gone.size, "image")} of the lock no more, which are built again: ${cells}`,
  ];
}

/** The plan that builds the cells whose images are gone. */
export function withoutGone(plan: Plan, gone: ReadonlyMap<string, Digest>): Plan {
  const { tagOf } = compileTag(plan.matrix);
  const cells = plan.cells.map((planned): PlannedCell => {
    const { cell, action, locked, inputDigest } = planned;
    const digest = gone.get(cell.id);
    if (action !== "keep" || digest === undefined || locked?.digest !== digest) return planned;
    const reason = `the registry has its image ${digest} no more`;
    return { ...planned, action: "build", reason, tag: tagOf(cell, inputDigest) };
  });
  return { ...plan, cells };
}

/** The plan in which a cell to build takes over the image of equal inputs, if the registry has it. The image keeps its tag. */
async function withTakenOver(
  plan: Plan,
  images: Carried,
  registry: Manifests,
  isVouched = false,
): Promise<Plan> {
  const { matrix } = plan;
  const cells = await pLimit(atOnce).map(plan.cells, async (planned): Promise<PlannedCell> => {
    const { cell, action, inputDigest } = planned;
    const image = images.get(cell.id);
    if (action !== "build" || inputDigest === null || planned.takesOver !== undefined) return planned;
    if (image?.inputDigest !== inputDigest) return planned;
    const { digest, tag } = image;
    const place = parseImageReference(repositoryOfCell(matrix, cell));
    const manifest = await registry.findManifest(withDigest(place, digest));
    return manifest === null ? planned : { ...planned, tag, takesOver: { digest, isVouched } };
  });
  return { ...plan, cells };
}
