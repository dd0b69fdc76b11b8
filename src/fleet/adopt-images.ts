/** `imgmatch adopt`: images that others built become rows of a lock. They stay where they are, under the tags they have. */

import { ImgmatchError } from "../errors.ts";
import { adoptedImage, type Statement } from "../inspect/adopt/adopted-image.ts";
import { compileTagPattern, parseAxes } from "../inspect/adopt/tag-pattern.ts";
import { openFromRegistry } from "../inspect/image/from-registry.ts";
import type { OpenOptions } from "../inspect/image/opened-image.ts";
import { type Lock, type LockedImage, lockSchemaVersion, type Requirement } from "../lock/lock.ts";
import { readLockIfPresent } from "../lock/lock-file.ts";
import { updateLock } from "../lock/update-lock.ts";
import { digestOf } from "../oci/digest-of.ts";
import { isIndexType } from "../oci/media-types.ts";
import {
  formatImageReference,
  type ImageReference,
  parseImageReference,
  withDigest,
} from "../oci/reference.ts";
import type { ManifestDescriptor, RegistryClient } from "../registry/client.ts";

export interface AdoptOptions extends OpenOptions {
  readonly registry: RegistryClient;
  readonly lockFile: string;
  /** `python=3.12`: axes of all these images. */
  readonly axes?: readonly string[];
  /** `{pytorch}-cuda*-{flavor}`: axes out of each tag. */
  readonly tagPattern?: string;
  readonly statement?: Statement;
  /** Of a lock that is not there yet. Default: the last part of the repository, and `1`. */
  readonly name?: string;
  readonly version?: string;
  readonly now?: () => Date;
}

export interface Adoption {
  readonly cell: string;
  readonly image: LockedImage;
  /** What could not be opened or is not known of it. */
  readonly notes: readonly string[];
}

/**
 * Opens each image in its registry and writes its row. All must be of one repository, that of the lock: a lock names its images by
 * tag and digest alone. Throws `USAGE`, `IMAGE_NOT_FOUND`, `ADOPT_UNDECIDED`, `AUDIT_…`, and what registry and lock throw; then
 * nothing is written.
 */
export async function adoptImages(
  references: readonly string[],
  options: AdoptOptions,
): Promise<readonly Adoption[]> {
  const { lockFile, axes = [], tagPattern, now = () => new Date() } = options;
  const named = references.map((text) => parseImageReference(text));
  const repository = repositoryOf(named, await readLockIfPresent(lockFile), lockFile);
  const given = parseAxes(axes);
  const readTag = tagPattern === undefined ? () => ({}) : compileTagPattern(tagPattern);
  const rows: Adoption[] = [];
  for (const reference of named) {
    const tag = reference.tag ?? "";
    const found = readTag(tag);
    if (found === null)
      throw usage(
        `the tag ${tag} is not as --tag-pattern ${tagPattern} says`,
        "adopt tags of another form in a call of their own",
      );
    rows.push(await adopt(reference, { ...found, ...given }, options, now));
  }
  await updateLock(
    lockFile,
    (known) => {
      repositoryOf(named, known, lockFile);
      return withRows(known, rows, repository, options);
    },
    { repository },
  );
  return rows;
}

async function adopt(
  reference: ImageReference,
  axes: Readonly<Record<string, string>>,
  options: AdoptOptions,
  now: () => Date,
): Promise<Adoption> {
  const { registry, platform, statement = {} } = options;
  const found = await registry.findManifest(reference);
  // By digest, so that what is opened is what is locked, whatever happens to the tag meanwhile.
  const opened = found && (await openFromRegistry(registry, withDigest(reference, found.digest), options));
  if (found === null || opened === null)
    throw new ImgmatchError({
      code: "IMAGE_NOT_FOUND",
      message: `the registry has no ${formatImageReference(reference)}`,
      fix: "check the name and the tag",
    });
  const name = formatImageReference(reference);
  const { notes, ...adopted } = adoptedImage(
    { ...opened, name, platform: opened.platform ?? platform },
    statement,
  );
  const { requires } = adopted;
  const isIndex = isIndexType(found.mediaType);
  const tag = reference.tag ?? "";
  return {
    cell: isIndex ? `${tag}_${adopted.platform.split("/")[1]}` : tag,
    notes,
    image: {
      axes: { cuda: requires.cuda?.toolkit ?? "none", march: marchOf(requires, statement), ...axes },
      tag,
      // It is not known what it was made of: only that the same digest is the same image.
      inputDigest: found.digest,
      digest: found.digest,
      ...(isIndex ? {} : { manifest: manifestOf(found) }),
      ...adopted,
      bases: [],
      builder: "others",
      created: now().toISOString(),
      size: null,
    },
  };
}

/** As a matrix labels it. */
function marchOf({ cpu }: Requirement, { without = [] }: Statement): string {
  return [cpu.march, ...without.map((feature) => `no-${feature}`)].join("-");
}

function manifestOf({ mediaType, size }: ManifestDescriptor): NonNullable<LockedImage["manifest"]> {
  return { mediaType, size };
}

/** The repository of all of them. Throws `USAGE`. */
function repositoryOf(references: readonly ImageReference[], lock: Lock | null, lockFile: string): string {
  const repositories = references.map(repositoryName);
  const [first = ""] = repositories;
  const wanted = lock === null || Object.keys(lock.images).length === 0 ? first : lock.repository;
  const [reference] = references.filter((each) => repositoryName(each) !== wanted);
  if (reference !== undefined)
    throw usage(
      `${formatImageReference(reference)} is not in ${wanted}, and a lock is of one repository`,
      `copy it there, for example skopeo copy --all docker://${formatImageReference(reference)} docker://${wanted}:${reference.tag ?? "TAG"}, and adopt the copy; or name a lock of its own with --lock`,
    );
  const untagged = references.find(({ tag }) => tag === null);
  if (untagged !== undefined)
    throw usage(`${formatImageReference(untagged)} has no tag`, "name the tag under which it is kept");
  const tags = references.map(({ tag }) => tag);
  const twice = tags.find((tag, index) => tags.indexOf(tag) !== index);
  if (twice !== undefined && twice !== null) throw usage(`${twice} is named twice`, "name each image once");
  const built = Object.values(lock?.images ?? {}).filter(({ adopted }) => adopted === undefined).length;
  if (built > 0)
    throw usage(
      `${lockFile} is the lock of a fleet that imgmatch built`,
      "name a lock of its own for images that others built: --lock adopted.lock.json",
    );
  return wanted;
}

function repositoryName(reference: ImageReference): string {
  return formatImageReference({ ...reference, tag: null, digest: null });
}

function withRows(
  known: Lock | null,
  rows: readonly Adoption[],
  repository: string,
  { name, version }: Pick<AdoptOptions, "name" | "version">,
): Lock {
  const images = { ...known?.images, ...Object.fromEntries(rows.map(({ cell, image }) => [cell, image])) };
  return {
    schemaVersion: lockSchemaVersion,
    // There is no matrix: it is the digest of nothing.
    matrixDigest: digestOf(""),
    repository,
    ...(known?.prefer === undefined ? {} : { prefer: known.prefer }),
    name: name ?? known?.name ?? repository.slice(repository.lastIndexOf("/") + 1),
    version: version ?? known?.version ?? "1",
    images: Object.fromEntries(Object.entries(images).sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

function usage(message: string, fix: string): ImgmatchError {
  return new ImgmatchError({ code: "USAGE", message, fix });
}
