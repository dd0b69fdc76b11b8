/** Finds the images of retired versions, and which of them nobody names any more. */

import pLimit from "p-limit";
import { ImgmatchError, usageError } from "../../errors.ts";
import { sum } from "../../io/collections.ts";
import type { FleetIndex } from "../../lock/fleet-index.ts";
import { placeOf } from "../../lock/image-repository.ts";
import type { Lock } from "../../lock/lock.ts";
import { inputsLabel } from "../../oci/build-words.ts";
import type { Digest } from "../../oci/digest.ts";
import { formatImageReference, formatRepository, withDigest, withTag } from "../../oci/reference.ts";
import { subjectOfTag } from "../../oci/registry/attachment-tags.ts";
import { findImageConfig } from "../../oci/registry/platform-image.ts";
import { versionTag } from "../cells/tag.ts";
import { channelRecordType } from "../publish/move-channel.ts";
import type { LockOfRef } from "./locks-of-refs.ts";
import { type NamedContent, type PruneRegistry, recordsOf, unreadable } from "./named-content.ts";

/** An image of a retired version. */
export interface RetiredContent {
  readonly digest: Digest;
  /** Its tags in rows of retired versions. */
  readonly tags: readonly string[];
  readonly cells: readonly string[];
  /** The image inside, where the digest is that of an index around it. */
  readonly inner: readonly Digest[];
  /** Bytes of its blobs: layers that others share stay. */
  readonly bytes: number;
  /** Why it stays; null if nobody names it. */
  readonly stays: string | null;
}

export interface RetiredIndex {
  readonly tag: string;
  readonly digest: Digest;
  readonly parts: readonly Digest[];
  readonly index: FleetIndex;
}

export interface Retired {
  /** The indexes of the versions and of their variants. */
  readonly indexes: readonly RetiredIndex[];
  /** Sorted by their first cell. */
  readonly images: readonly RetiredContent[];
}

interface Row {
  readonly cell: string;
  readonly tag: string;
  readonly digest: Digest;
  readonly inner: Digest;
  readonly platform: string;
}

/**
 * Names all that stays, and answers what the versions have besides. Throws `USAGE` for the lock's own version, `INDEX_NOT_FOUND`,
 * `INDEX_FOREIGN` for a version of another fleet, `REGISTRY_…`.
 */
export async function findRetired(
  named: NamedContent,
  versions: readonly string[],
  { lock, refs }: { readonly lock: Lock; readonly refs: readonly LockOfRef[] },
  registry: PruneRegistry,
): Promise<Retired> {
  if (versions.includes(lock.version))
    throw usageError(`${lock.version} is the version of the lock`, "name versions that are over");
  const indexes = await retiredIndexes(named, versions, lock, registry);
  const rows = indexes.flatMap(({ index }) =>
    [...index.entries].map(
      ([cell, { image, descriptor }]): Row => ({
        ...{ cell, tag: image.tag, digest: image.digest, platform: image.platform },
        inner: descriptor.digest,
      }),
    ),
  );
  await nameTheRest(named, indexes, rows, { lock, refs }, registry);
  const groups = new Map<Digest, Row[]>();
  for (const row of rows) groups.set(row.digest, [...(groups.get(row.digest) ?? []), row]);
  const images = await pLimit(16).map(groups.values(), (alike) => retiredContent(named, alike, registry));
  return { indexes, images: images.flat().sort((one, other) => (key(one) < key(other) ? -1 : 1)) };
}

function key({ cells: [cell = ""], digest }: RetiredContent): string {
  return `${cell} ${digest}`;
}

/** The index of each version, and each other index of the version that is no channel's. */
async function retiredIndexes(
  { indexes, home }: NamedContent,
  versions: readonly string[],
  lock: Lock,
  registry: PruneRegistry,
): Promise<readonly RetiredIndex[]> {
  const found: RetiredIndex[] = [];
  for (const version of new Set(versions)) {
    const tag = versionTag({ version });
    const own = indexes.get(tag);
    const place = formatImageReference(withTag(home, tag));
    if (own === undefined)
      throw new ImgmatchError({
        code: "INDEX_NOT_FOUND",
        message: `${place} is no index of a fleet`,
        fix: "name a version that imgmatch publish wrote; one that was retired before needs nothing",
      });
    const { index } = own;
    if (index.name !== lock.name || index.version !== version || index.tag !== tag)
      throw new ImgmatchError({
        code: "INDEX_FOREIGN",
        message: `${place} is the index of ${index.name} ${index.version}, and the lock is of ${lock.name}`,
        fix: "retire it with the lock of its own fleet",
      });
    found.push({ tag, ...own });
    for (const [other, candidate] of indexes) {
      const { digest, index: variant } = candidate;
      const isOurs = variant.name === lock.name && variant.version === version && variant.tag === other;
      if (other === tag || !isOurs || lock.channels?.[other] !== undefined) continue;
      const records = await recordsOf(registry, home, digest, channelRecordType);
      if (records.length === 0) found.push({ tag: other, ...candidate });
    }
  }
  return found;
}

async function nameTheRest(
  named: NamedContent,
  retired: readonly RetiredIndex[],
  rows: readonly Row[],
  { lock, refs }: { readonly lock: Lock; readonly refs: readonly LockOfRef[] },
  registry: PruneRegistry,
): Promise<void> {
  const { home, tags, indexes, name, nameHistory } = named;
  const goes = new Map<string, Digest>([
    ...rows.map(({ tag, digest }) => [tag, digest] as const),
    ...retired.map(({ tag, digest }) => [tag, digest] as const),
  ]);
  for (const [tag, { digest }] of tags)
    if (goes.get(tag) !== digest && subjectOfTag(tag) === null) await name(digest, `the tag ${tag}`);
  for (const [tag, { digest }] of indexes) {
    if (retired.some((each) => each.tag === tag)) continue;
    const records = await recordsOf(registry, home, digest, channelRecordType);
    if (records.length > 0) await nameHistory(digest, tag);
  }
  const locks = [{ ref: null, lock }, ...refs];
  for (const { ref, lock: each } of locks) {
    const by = ref === null ? "the lock" : `the lock of ${ref}`;
    for (const image of Object.values(each.images)) {
      const isHere = formatRepository(placeOf(each, image)) === formatRepository(home);
      if (isHere && image.digest !== null) await name(image.digest, by);
    }
    if (each.repository !== lock.repository) continue;
    for (const [channel, { digest, from }] of Object.entries(each.channels ?? {}))
      for (const moved of [digest, from]) if (moved !== null) await nameHistory(moved, channel);
  }
}

/** Empty for an image that is gone already. */
async function retiredContent(
  { home, namedBy, tags }: NamedContent,
  alike: readonly Row[],
  registry: PruneRegistry,
): Promise<readonly RetiredContent[]> {
  const [first] = alike;
  if (first === undefined) return [];
  const { digest, platform } = first;
  const image = await findImageConfig(registry, withDigest(home, digest), platform);
  if (image === null) return [];
  for (const { tag } of alike)
    if (!tags.has(tag) && (await registry.findManifest(withTag(home, tag))) !== null)
      throw unreadable(
        withTag(home, tag),
        "the registry's list of tags does not have it, and may lack others",
      );
  const inner = [...new Set(alike.flatMap((row) => (row.inner === digest ? [] : [row.inner])))];
  const by = [digest, ...inner].flatMap((each) => namedBy(each) ?? [])[0];
  const isOurs = !("isNot" in image) && image.config.labels[inputsLabel] !== undefined;
  return [
    {
      digest,
      inner,
      // A tag that holds something else by now is named by it.
      tags: [...new Set(alike.map(({ tag }) => tag))].filter((tag) => tags.get(tag)?.digest === digest),
      cells: [...new Set(alike.map(({ cell }) => cell))].sort(),
      bytes: "isNot" in image ? 0 : sum(Object.values(image.blobs ?? {})),
      stays: by !== undefined ? `named by ${by}` : isOurs ? null : "imgmatch did not build it",
    },
  ];
}
