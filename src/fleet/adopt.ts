/** Writes images that others built into a lock. The images keep their tags, and stay in place or are copied. */

import { ImgmatchError, usageError } from "../errors.ts";
import { acceleratorOf } from "../lock/requirement.ts";
import type { Statement } from "../lock/statement.ts";
import { compileTagPattern, parseAxes } from "./cells/tag-pattern.ts";
import { type Lock, type LockedImage, lockPath, lockSchemaVersion } from "../lock/lock.ts";
import type { Requirement } from "../lock/requirement.ts";
import type { OpenChoice, OpenEvent } from "../lock/statement.ts";
import { inWorld, type Watching, type World } from "../io/world.ts";
import { readLockIfPresent } from "../lock/store/lock-file.ts";
import { updateLock } from "../lock/store/update-lock.ts";
import { isIndexType } from "../oci/media-types.ts";
import {
  formatImageReference,
  formatRepository,
  parseImageReference,
  type ImageReference,
  withDigest,
  withTag,
} from "../oci/reference.ts";
import { sortedEntries } from "../io/collections.ts";
import type { FullRegistryClient } from "../oci/registry/create-client.ts";
import { findImageConfig } from "../oci/registry/platform-image.ts";
import { registryFor } from "../oci/registry/registry-access.ts";
import type { RegistryAccess } from "../oci/registry/registry-flags.ts";

export interface AdoptOptions extends OpenChoice, Statement, RegistryAccess, Watching<AdoptEvent> {
  /** Images, each with its tag. */
  readonly references: readonly string[];
  /** Default: `images/imgmatch.lock.json`. */
  readonly lock?: string;
  /** Repository of the lock: images of others are copied there, under their tags. Default: none is, and all must be of one. */
  readonly publishTo?: string;
  /** `python=3.12`: axes of all these images. */
  readonly axis?: readonly string[];
  /** `{pytorch}-cuda*-{flavor}`: axes out of each tag. */
  readonly tagPattern?: string;
  /** Name of a new lock. Default: the last part of the repository. */
  readonly name?: string;
  /** Version of a new lock. Default: `1`. */
  readonly fleetVersion?: string;
}

/** `copy`: before each image is copied. */
export type AdoptEvent = OpenEvent | { readonly type: "copy"; readonly from: string; readonly to: string };

export interface AdoptAnswer {
  readonly schemaVersion: 1;
  /** The lock's file. */
  readonly lock: string;
  readonly adopted: readonly Adoption[];
}

export interface Adoption {
  readonly cell: string;
  readonly image: LockedImage;
  /** Files that could not be opened and facts that are not known. */
  readonly notes: readonly string[];
}

/** What the files of an image tell, and what they leave open. */
export interface ForeignImage
  extends Pick<LockedImage, "platform" | "requires" | "adopted" | "measured" | "code"> {
  /** Unknown needs: it may need more than `requires`. */
  readonly undecided: readonly string[];
  readonly notes: readonly string[];
}

/** The port to the files of others' images. */
export interface Adopting {
  /** Opens an image that the reference names by its digest; null if the registry does not have it. Throws `ADOPT_UNDECIDED`, `AUDIT_…`. */
  readonly openForeign: (reference: ImageReference, request: AdoptRequest) => Promise<ForeignImage | null>;
}

interface AdoptRequest {
  readonly name: string;
  readonly registry: FullRegistryClient;
  readonly choice: OpenChoice & Statement & Watching<OpenEvent>;
  readonly world: World;
}

type AdoptMeans = Omit<AdoptRequest, "name"> & Adopting;

/**
 * Opens each image in its registry and writes its row. A lock names the images of one repository. `publishTo` copies images of
 * other repositories there, once all are opened.
 *
 * Throws `USAGE`, `IMAGE_NOT_FOUND`, `ADOPT_UNDECIDED`, `AUDIT_…`, `TAG_CONFLICT`, and errors of registry and lock. Then it writes no row; a
 * second call does not copy again.
 *
 * @example
 * await adopt({ references: ["registry.example.com/team/app:1.0"], axis: ["python=3.12"] });
 */
export type AdoptFunction = (options: AdoptOptions, world?: Partial<World>) => Promise<AdoptAnswer>;

export function adoptWith(ports: Adopting): AdoptFunction {
  return (options, given) => inWorld(options, given, (world) => adoptIn(options, world), ports);
}

async function adoptIn(asked: AdoptOptions, world: World & Adopting): Promise<AdoptAnswer> {
  const { references, lock: lockFile = lockPath, axis = [], tagPattern, publishTo } = asked;
  const named = references.map((text) => parseImageReference(text));
  const to = publishTo === undefined ? null : repositoryNamed(publishTo);
  const repository = adoptedRepository(named, await readLockIfPresent(lockFile), lockFile, to);
  const writes = named.some((each) => formatRepository(each) !== repository) ? [repository] : [];
  const registry = await registryFor(asked, world, { writes });
  const means = { registry, choice: asked, world, openForeign: world.openForeign };
  const axes = parseAxes(axis);
  const readTag = tagPattern === undefined ? () => ({}) : compileTagPattern(tagPattern);
  const adopted: Adoption[] = [];
  for (const reference of named) {
    const tag = reference.tag ?? "";
    const found = readTag(tag);
    if (found === null)
      throw usageError(
        `the tag ${tag} does not match --tag-pattern ${tagPattern}`,
        "adopt such tags in a second call",
      );
    adopted.push(await adoptOne(reference, { ...found, ...axes }, means));
  }
  const home = parseImageReference(repository);
  for (const [index, { image }] of adopted.entries()) {
    const [from, { tag, digest }] = [named[index], image];
    if (from === undefined || digest === null || formatRepository(from) === formatRepository(home)) continue;
    const { copyImage } = await import("./publish/copy-image.ts");
    const to = withTag(home, tag);
    asked.onEvent?.({ type: "copy", from: formatImageReference(from), to: formatImageReference(to) });
    await copyImage(withDigest(from, digest), to, { registry: means.registry, signal: world.signal });
  }
  await updateLock(
    lockFile,
    (known) => {
      adoptedRepository(named, known, lockFile, to);
      return withRows(known, adopted, repository, asked);
    },
    { repository },
  );
  return { schemaVersion: 1, lock: lockFile, adopted };
}

/** Throws `USAGE` for a name with a tag or a digest. */
function repositoryNamed(name: string): string {
  const reference = parseImageReference(name);
  if (reference.tag === null && reference.digest === null) return formatRepository(reference);
  throw usageError(
    `--publish-to ${name} names an image`,
    "name the repository alone: registry.example.com/team/app",
  );
}

async function adoptOne(
  reference: ImageReference,
  axes: Readonly<Record<string, string>>,
  means: AdoptMeans,
): Promise<Adoption> {
  const { openForeign, ...request } = means;
  const { registry, choice } = request;
  const name = formatImageReference(reference);
  const found = await registry.findManifest(reference);
  // Opened by digest: the tag may move meanwhile.
  const foreign =
    found &&
    (await openForeign(withDigest(reference, found.digest), { ...request, name }).catch(naming(name)));
  if (found === null || foreign === null)
    throw new ImgmatchError({
      code: "IMAGE_NOT_FOUND",
      message: `the registry has no ${name}`,
      fix: "check the name and the tag",
    });
  const { undecided, notes, ...adopted } = foreign;
  const { requires } = adopted;
  const stored = await findImageConfig(registry, withDigest(reference, found.digest), adopted.platform);
  const blobs = stored === null || "isNot" in stored ? null : stored.blobs;
  const isIndex = isIndexType(found.mediaType);
  const tag = reference.tag ?? "";
  return {
    cell: isIndex ? `${tag}_${adopted.platform.split("/")[1]}` : tag,
    notes: [...undecided, ...notes],
    image: {
      axes: { ...acceleratorOf(requires), march: marchOf(requires, choice), ...axes },
      tag,
      // Its inputs are unknown: the digest stands for them.
      inputDigest: found.digest,
      digest: found.digest,
      ...(isIndex ? {} : { manifest: { mediaType: found.mediaType, size: found.size } }),
      ...adopted,
      bases: [],
      builder: "others",
      created: new Date().toISOString(),
      size: null,
      ...(blobs === null ? {} : { blobs }),
    },
  };
}

/** Names the image in what its files do not tell: several are adopted at once. */
function naming(name: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof ImgmatchError) || !/^(ADOPT|AUDIT)_/.test(error.code)) throw error;
    const [first, ...rest] = error.problems.map((each) => ({ ...each, message: `${name}: ${each.message}` }));
    throw first === undefined ? error : new ImgmatchError([first, ...rest], { cause: error });
  };
}

/** The label of the march, as a matrix writes it. */
function marchOf({ cpu }: Requirement, { without = [] }: Statement): string {
  return [cpu.march, ...without.map((feature) => `no-${feature}`)].join("-");
}

/** The repository of all rows: the lock's, else `to`, else that of the images. Throws `USAGE`. */
function adoptedRepository(
  references: readonly ImageReference[],
  lock: Lock | null,
  lockFile: string,
  to: string | null,
): string {
  const first = references[0] === undefined ? "" : formatRepository(references[0]);
  const isNew = lock === null || Object.keys(lock.images).length === 0;
  const wanted = isNew ? (to ?? first) : lock.repository;
  if (to !== null && to !== wanted)
    throw usageError(
      `${lockFile} is the lock of ${wanted}, and not of ${to}`,
      `publish to ${wanted}, or name another lock with --lock`,
    );
  const [reference] = to === null ? references.filter((each) => formatRepository(each) !== wanted) : [];
  if (reference !== undefined)
    throw usageError(
      `${formatImageReference(reference)} is not in ${wanted}, and a lock is of one repository`,
      `add --publish-to ${wanted}, which copies it there; or name another lock with --lock`,
    );
  const untagged = references.find(({ tag }) => tag === null);
  if (untagged !== undefined)
    throw usageError(`${formatImageReference(untagged)} has no tag`, "name it with its tag");
  const tags = references.map(({ tag }) => tag);
  const twice = tags.find((tag, index) => tags.indexOf(tag) !== index);
  if (twice !== undefined && twice !== null)
    throw usageError(
      `the tag ${twice} is named twice`,
      "name each image once; give one of two images another tag",
    );
  const built = Object.values(lock?.images ?? {}).filter(({ adopted }) => adopted === undefined).length;
  if (built > 0)
    throw usageError(
      `${lockFile} is the lock of a fleet that imgmatch built`,
      "keep images that others built in another lock: --lock adopted.lock.json",
    );
  return wanted;
}

function withRows(
  known: Lock | null,
  rows: readonly Adoption[],
  repository: string,
  { name, fleetVersion }: Pick<AdoptOptions, "name" | "fleetVersion">,
): Lock {
  const images = { ...known?.images, ...Object.fromEntries(rows.map(({ cell, image }) => [cell, image])) };
  return {
    schemaVersion: lockSchemaVersion,
    repository,
    ...(known?.prefer === undefined ? {} : { prefer: known.prefer }),
    ...(known?.plainPull && { plainPull: known.plainPull }),
    name: name ?? known?.name ?? repository.slice(repository.lastIndexOf("/") + 1),
    version: fleetVersion ?? known?.version ?? "1",
    images: Object.fromEntries(sortedEntries(images)),
  };
}
