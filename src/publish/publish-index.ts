/** Writing a version's index, in a registry that has no conditional write and may have other publishers of the same version. */

import { createHash, randomBytes } from "node:crypto";
import { setTimeout as sleepFor } from "node:timers/promises";
import { ImgmatchError, type Problem, throwProblems } from "../errors.ts";
import type { Manifest, ManifestDescriptor, RegistryClient } from "../registry/client.ts";
import { digestOf, type Digest } from "../oci/digest.ts";
import { type FleetIndex, formatFleetIndex, type IndexedImage, sameImage } from "../registry/fleet-index.ts";
import { indexTypes } from "../oci/media-types.ts";
import { parseFleetIndex, readFleetIndex } from "../registry/read-fleet-index.ts";
import { formatImageReference, type ImageReference, withTag } from "../oci/reference.ts";
import { describeImages } from "./describe-images.ts";

export interface IndexRequest {
  readonly registry: RegistryClient;
  /** With the version's tag. */
  readonly reference: ImageReference;
  readonly name: string;
  readonly version: string;
  /** What resolve is to look at first. Default: its own order. */
  readonly prefer?: readonly string[];
  /** Published images by cell. */
  readonly images: ReadonlyMap<string, IndexedImage>;
  /** Their manifests by cell, as far as the lock has noted them. */
  readonly manifests?: ReadonlyMap<string, ManifestDescriptor>;
  /** Write exactly these images, whatever the index says now. */
  readonly replace?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** How long other publishers of the version get to finish, in milliseconds. Default: 5,000. */
  readonly settleMs?: number | undefined;
  /** Longest manifest, in bytes: for tests. */
  readonly maxBytes?: number | undefined;
}

export interface PublishedIndex {
  /** What the version's tag holds. */
  readonly digest: Digest;
  readonly how: "written" | "unchanged" | "replaced";
  /** Cells of the index: these and those that others have published. */
  readonly cells: number;
  /** Cells that were not in the index before. */
  readonly added: readonly string[];
}

const pollMs = 100;
const mostWrites = 50;

/**
 * Adds these images to the index of their version, creating it where there is none.
 *
 * An index only grows: what it says of a cell never changes under its version, and no cell vanishes. So publishers of
 * different cells can work side by side, in any order, and the last one has all. Each announces itself by a transient tag
 * `imgmatch-index-<version>-<random>` before it reads the index that its own is made of, and leaves only when the tag
 * holds its images and nobody is announced who may still write what was read before. Every write follows an announcement
 * and a reading in that order; so what a publisher has seen in the registry when it leaves, each later one has read.
 *
 * Throws `INDEX_CONFLICT`, with both digests, when the index says something else of a cell, or is none that imgmatch wrote.
 */
export async function publishIndex(request: IndexRequest): Promise<PublishedIndex> {
  const { registry, reference, images, replace = false } = request;
  const before = await readCurrent(request);
  const { entries: own, assumed } = await describeImages(request, before?.index ?? null);
  const { name, version, prefer = [] } = request;
  const mine: FleetIndex = { name, version, prefer, entries: own };
  const added = [...images.keys()].filter((cell) => !before?.index.entries.has(cell));
  const wanted = replace ? mine : union(before?.index ?? null, mine, reference);
  const formatted = formatFleetIndex(wanted, request);
  if (before?.digest === formatted.top.digest)
    return { digest: before.digest, how: "unchanged", cells: wanted.entries.size, added: [] };

  const announcement: Announcement = {
    reference: withTag(reference, `${prefixOf(reference)}${randomBytes(4).toString("hex")}`),
    stands: false,
  };
  try {
    await announce(registry, announcement);
    const settled = await settle(request, mine, announcement);
    return { ...settled, how: replace && before !== null ? "replaced" : "written", added };
  } catch (error) {
    if (error instanceof ImgmatchError && error.code === "REGISTRY_FAILED")
      await nameMissing(request, assumed);
    throw error;
  } finally {
    await retire(registry, announcement);
  }
}

/** A registry refuses an index of manifests that it does not have, but not every one says which: throws with their names. */
async function nameMissing(request: IndexRequest, assumed: readonly string[]): Promise<void> {
  const images = new Map([...request.images].filter(([cell]) => assumed.includes(cell)));
  await describeImages({ ...request, images, manifests: new Map() }, null);
}

interface Current {
  readonly digest: Digest;
  readonly index: FleetIndex;
}

async function readCurrent({ registry, reference, replace = false }: IndexRequest): Promise<Current | null> {
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
    // An index of imgmatch that is damaged: only who replaces it may go on.
    if (!replace || !(error instanceof ImgmatchError)) throw error;
    return { digest: stored.top.digest, index: { name: "", version: "", prefer: [], entries: new Map() } };
  }
}

/** Throws `INDEX_CONFLICT` with every cell of which the two say different things. */
function union(current: FleetIndex | null, mine: FleetIndex, reference: ImageReference): FleetIndex {
  if (current === null) return mine;
  const entries = [...mine.entries].sort(([one], [other]) => (one < other ? -1 : 1));
  const problems = entries.flatMap(([cell, { image }]): Problem[] => {
    const theirs = current.entries.get(cell)?.image;
    if (theirs === undefined || sameImage(theirs, image)) return [];
    const what =
      theirs.digest === image.digest
        ? `${theirs.digest} with other requirements, axes or tag`
        : `${theirs.digest}; the lock has ${image.digest}`;
    return [
      {
        code: "INDEX_CONFLICT",
        message: `${formatImageReference(reference)} has ${cell} as ${what}`,
        fix: "raise the version of the matrix, or replace the index on purpose with --replace-index",
      },
    ];
  });
  if (current.prefer.join() !== mine.prefer.join()) {
    problems.push({
      code: "INDEX_CONFLICT",
      message: `${formatImageReference(reference)} prefers ${current.prefer.join(", ") || "nothing"}, the matrix ${mine.prefer.join(", ") || "nothing"}`,
      fix: "raise the version of the matrix, or replace the index on purpose with --replace-index",
    });
  }
  throwProblems(problems);
  return { ...mine, entries: new Map([...current.entries, ...mine.entries]) };
}

/** Whether the index says of these images what it should. */
function contains(index: FleetIndex, mine: FleetIndex): boolean {
  return [...mine.entries].every(([cell, { image }]) => {
    const theirs = index.entries.get(cell)?.image;
    return theirs !== undefined && sameImage(theirs, image);
  });
}

async function settle(
  request: IndexRequest,
  mine: FleetIndex,
  own: Announcement,
): Promise<Pick<PublishedIndex, "digest" | "cells">> {
  const { registry, reference, replace = false, signal, settleMs = 5000 } = request;
  const deadline = performance.now() + settleMs;
  for (let writes = 0; ; ) {
    signal?.throwIfAborted();
    const now = await readCurrent(request);
    const target = replace ? mine : union(now?.index ?? null, mine, reference);
    const formatted = formatFleetIndex(target, request);
    const holds = now !== null && (replace ? now.digest === formatted.top.digest : contains(now.index, mine));
    if (!holds) {
      if (replace && writes > 0 && now !== null) throw replaced(reference, now.digest, formatted.top.digest);
      if (!own.stands) {
        // Who has left may have been counted as gone: announced first, and read again.
        await announce(registry, own);
        continue;
      }
      if (writes++ > mostWrites) throw unsettled(reference);
      await store(registry, reference, formatted);
      continue;
    }
    await retire(registry, own);
    const isContested = await othersStand(registry, reference, own);
    if (!isContested && (await registry.findManifest(reference))?.digest === now.digest)
      return { digest: now.digest, cells: now.index.entries.size };
    // Somebody was killed, or is very slow.
    if (performance.now() >= deadline) return { digest: now.digest, cells: now.index.entries.size };
    await sleepFor(pollMs * (0.5 + Math.random()));
  }
}

async function store(
  registry: RegistryClient,
  reference: ImageReference,
  { top, parts }: { readonly top: Manifest; readonly parts: readonly Manifest[] },
): Promise<void> {
  for (const part of parts)
    await registry.writeManifest({ ...reference, tag: null, digest: part.digest }, part);
  await registry.writeManifest({ ...reference, digest: null }, top);
}

/** The transient tag of a publisher: it stands, or it is gone, or, where tags cannot be removed, it holds {@link left}. */
interface Announcement {
  readonly reference: ImageReference;
  stands: boolean;
}

/** What stays under a transient tag in a registry that cannot remove tags. */
const left = indexOfNothing("left");

/** One for each publisher: some registries drop a manifest with all its tags when one of them is removed. */
function indexOfNothing(note: string): Manifest {
  const mediaType = indexTypes.oci;
  const annotations = { "dev.imgmatch.publisher": note };
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests: [], annotations }));
  return { mediaType, digest: digestOf(bytes), size: bytes.byteLength, bytes };
}

/** Of the version's tag as a hash: a tag may be as long as the whole name is allowed to be. */
function prefixOf({ tag }: ImageReference): string {
  return `imgmatch-index-${createHash("sha256")
    .update(tag ?? "")
    .digest("hex")
    .slice(0, 16)}-`;
}

async function announce(registry: RegistryClient, own: Announcement): Promise<void> {
  own.stands = true;
  await registry.writeManifest(own.reference, indexOfNothing(own.reference.tag ?? ""));
}

async function othersStand(
  registry: RegistryClient,
  reference: ImageReference,
  own: Announcement,
): Promise<boolean> {
  const prefix = prefixOf(reference);
  for await (const tag of registry.listTags(reference)) {
    if (!tag.startsWith(prefix) || tag === own.reference.tag) continue;
    const other = await registry.findManifest(withTag(reference, tag));
    if (other !== null && other.digest !== left.digest) return true;
  }
  return false;
}

/** Never throws: a tag that stays costs later publishers of the version `settleMs`, and nothing else. */
async function retire(registry: RegistryClient, own: Announcement): Promise<void> {
  if (!own.stands) return;
  own.stands = false;
  try {
    if (!(await registry.removeTag(own.reference))) await registry.writeManifest(own.reference, left);
  } catch {
    // It stays as it is.
  }
}

function unsettled(reference: ImageReference): ImgmatchError {
  return new ImgmatchError({
    code: "REGISTRY_FAILED",
    message: `${formatImageReference(reference)} did not keep what was written to it ${mostWrites} times`,
    fix: "look for another publisher that writes without imgmatch, and at the registry's clean-up rules",
  });
}

function replaced(reference: ImageReference, theirs: Digest, ours: Digest): ImgmatchError {
  return new ImgmatchError({
    code: "INDEX_CONFLICT",
    message: `${formatImageReference(reference)} was replaced by somebody else at the same time: it holds ${theirs}, not ${ours}`,
    fix: "find out who else publishes this version, and run it again",
  });
}
