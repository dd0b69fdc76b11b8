/** Finds what the names of a repository reach: tags, the indexes of fleets, the history of channels. Nothing that is named may be removed. */

import pLimit from "p-limit";
import { ImgmatchError } from "../../errors.ts";
import { remember } from "../../io/collections.ts";
import { fieldsOf, parseJson } from "../../io/json.ts";
import type { FleetIndex } from "../../lock/fleet-index.ts";
import { formatOf, parseFleetIndex, readFleetIndex } from "../../lock/store/read-fleet-index.ts";
import type { Manifest, ManifestDescriptor } from "../../oci/descriptor.ts";
import { type Digest, isDigest } from "../../oci/digest.ts";
import { isIndexType, manifestTypes } from "../../oci/media-types.ts";
import { formatImageReference, type ImageReference, withDigest, withTag } from "../../oci/reference.ts";
import { subjectOfTag } from "../../oci/registry/attachment-tags.ts";
import type { EvidenceReader, RegistryClient } from "../../oci/registry/client.ts";
import { findReferrers } from "../../oci/registry/find-referrers.ts";
import { isTransientTag, left } from "../../oci/registry/transient-tag.ts";
import { channelRecordType } from "../publish/move-channel.ts";

export type PruneRegistry = RegistryClient & EvidenceReader;

interface NamedIndex {
  readonly digest: Digest;
  /** Digests of the further indexes that it is divided into. */
  readonly parts: readonly Digest[];
  readonly index: FleetIndex;
}

/** What is named, and the first name of each. */
export interface NamedContent {
  readonly home: ImageReference;
  /** As they were at the first look, without those that were removed since. */
  readonly tags: Map<string, ManifestDescriptor>;
  /** The indexes of fleets, by tag. */
  readonly indexes: ReadonlyMap<string, NamedIndex>;
  /** Adds what a manifest reaches. */
  readonly name: (digest: Digest, by: string) => Promise<void>;
  /** Who names it; null for nobody. */
  readonly namedBy: (digest: Digest) => string | null;
  /** An index and all manifests below; an image alone. Empty if the registry has it no more. */
  readonly closureOf: (digest: Digest) => Promise<readonly Digest[]>;
  /** Adds the versions that a channel had before. */
  readonly nameHistory: (digest: Digest, channel: string) => Promise<void>;
  /** Throws `PUBLISHER_AT_WORK` if another publisher's announcement stands. */
  readonly refuseOthers: (tag: string, digest: Digest) => void;
}

const atOnce = 16;

/** Reads every tag of a repository. Throws `REGISTRY_…` and `INDEX_…` for a list, a manifest or an index that cannot be read. */
export async function readNamedContent(registry: PruneRegistry, home: ImageReference): Promise<NamedContent> {
  const limit = pLimit(atOnce);
  const names: string[] = [];
  for await (const tag of registry.listTags(home)) names.push(tag);
  const looks = await limit.map(names.sort(), async (tag) => {
    const found = await registry.findManifest(withTag(home, tag));
    return found === null ? [] : [[tag, found] as const];
  });
  const tags = new Map(looks.flat());
  const manifests = new Map<Digest, Promise<Manifest | null>>();
  const read = (digest: Digest) =>
    remember(manifests, digest, () => registry.readManifest(withDigest(home, digest)));
  const named = new Map<Digest, string>();
  const images = new Set(
    [...tags.values()].flatMap(({ digest, mediaType }) => (isIndexType(mediaType) ? [] : [digest])),
  );

  const indexes = new Map<string, NamedIndex>();
  const fleetIndexAt = async (digest: Digest): Promise<NamedIndex | null> => {
    const manifest = await read(digest);
    if (manifest === null || formatOf(manifest) === null) return null;
    const place = withDigest(home, digest);
    const stored = await readFleetIndex(registry, place);
    if (stored === null) return null;
    const parts = stored.parts.map((part) => part.digest);
    return { digest, parts, index: parseFleetIndex(stored, place) };
  };
  await limit.map(tags, async ([tag, { digest, mediaType }]) => {
    if (!isIndexType(mediaType) || digest === left.digest || subjectOfTag(tag) !== null) return;
    const found = await fleetIndexAt(digest);
    if (found !== null) indexes.set(tag, found);
  });

  async function closureOf(digest: Digest): Promise<readonly Digest[]> {
    const found = new Set<Digest>();
    const follow = async (each: Digest): Promise<void> => {
      if (found.has(each)) return;
      if (images.has(each)) {
        found.add(each);
        return;
      }
      const manifest = await read(each);
      if (manifest === null) return;
      found.add(each);
      if (!isIndexType(manifest.mediaType)) return;
      const { manifests: below } = fieldsOf(parseJson(manifest.bytes));
      for (const entry of Array.isArray(below) ? below : []) {
        const { digest: child, mediaType } = fieldsOf(entry);
        if (!isDigest(child))
          throw unreadable(withDigest(home, each), "it names a manifest without a digest");
        // What an index by hand does not tell of its parts is read.
        if (!Object.values<unknown>(manifestTypes).includes(mediaType)) await follow(child);
        found.add(child);
      }
    };
    await follow(digest);
    return [...found];
  }

  async function name(digest: Digest, by: string): Promise<void> {
    if (named.has(digest)) return;
    const fleet = images.has(digest) ? null : await fleetIndexAt(digest);
    // A row may name the index around the image.
    const around = [...(fleet?.index.entries ?? [])].flatMap(([, { image, descriptor }]) =>
      image.digest === descriptor.digest ? [] : [image.digest],
    );
    for (const top of [digest, ...around])
      for (const each of [top, ...(await closureOf(top))]) if (!named.has(each)) named.set(each, by);
  }

  async function nameHistory(digest: Digest, channel: string): Promise<void> {
    const seen = new Set<Digest>();
    for (let next: Digest | null = digest; next !== null && !seen.has(next); ) {
      seen.add(next);
      await name(next, `the history of channel ${channel}`);
      next = await cameFrom(registry, home, next, channel);
    }
  }

  function refuseOthers(tag: string, digest: Digest): void {
    if (!isTransientTag(tag) || digest === left.digest) return;
    throw new ImgmatchError({
      code: "PUBLISHER_AT_WORK",
      message: `${formatImageReference(withTag(home, tag))} stands: somebody publishes here, or was killed`,
      fix: "run it again when nobody publishes; imgmatch verify --sweep removes what a killed publisher left",
    });
  }

  return {
    ...{ home, tags, indexes, name, nameHistory, closureOf, refuseOthers },
    namedBy: (digest) => named.get(digest) ?? null,
  };
}

/** The digest that a channel had before, by the record of its move; null if none was recorded. */
async function cameFrom(
  registry: PruneRegistry,
  home: ImageReference,
  digest: Digest,
  channel: string,
): Promise<Digest | null> {
  for (const { record } of await recordsOf(registry, home, digest, channelRecordType)) {
    const { from, channel: of } = fieldsOf(record);
    if (of === channel && isDigest(from)) return from;
  }
  return null;
}

/** Reads the JSON of what is attached to a digest with this type. Throws `REGISTRY_FAILED` for one that is no JSON. */
export async function recordsOf(
  registry: PruneRegistry,
  home: ImageReference,
  digest: Digest,
  type: string,
): Promise<readonly { readonly record: unknown }[]> {
  const found = await findReferrers(registry, { reference: home, digest });
  const records = found.map(async ({ digest: attached }) => {
    const manifest = await registry.readManifest(withDigest(home, attached));
    const json = fieldsOf(manifest === null ? null : parseJson(manifest.bytes));
    // A list may tell the type of the configuration: the manifest decides.
    if (json.artifactType !== type) return [];
    const [layer] = Array.isArray(json.layers) ? json.layers : [];
    const { digest: blob } = fieldsOf(layer);
    const record = isDigest(blob) ? parseJson(await registry.readBlob(home, blob)) : undefined;
    if (record === undefined || record === null)
      throw unreadable(withDigest(home, attached), "it is no record of imgmatch");
    return [{ record }];
  });
  return (await Promise.all(records)).flat();
}

export function unreadable(reference: ImageReference, what: string): ImgmatchError {
  return new ImgmatchError({
    code: "REGISTRY_FAILED",
    message: `${formatImageReference(reference)} cannot be read: ${what}`,
    fix: "find out who wrote it; nothing is removed while something is not understood",
  });
}
