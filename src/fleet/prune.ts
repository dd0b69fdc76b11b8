/** Retires versions: lists the images that nobody names any more, and removes an image once nobody has named it for days. */

import { inWorld, type Watching, type World } from "../io/world.ts";
import { fieldsOf } from "../io/json.ts";
import { canonical } from "../io/canonical-json.ts";
import { lockPath } from "../lock/lock.ts";
import { readLock } from "../lock/store/lock-file.ts";
import { type Digest, isDigest } from "../oci/digest.ts";
import { type ImageReference, parseImageReference, withDigest } from "../oci/reference.ts";
import { attach } from "../oci/registry/attach.ts";
import type { FullRegistryClient } from "../oci/registry/create-client.ts";
import { registryFor, registryToWrite } from "../oci/registry/registry-access.ts";
import type { RegistryAccess } from "../oci/registry/registry-flags.ts";
import { locksOfRefs } from "./prune/locks-of-refs.ts";
import { type NamedContent, readNamedContent, recordsOf, unreadable } from "./prune/named-content.ts";
import { removeContent } from "./prune/remove-content.ts";
import { findRetired, type Retired, type RetiredContent } from "./prune/retired-images.ts";

export interface PruneOptions extends RegistryAccess, Watching {
  /** Versions that are over. Their indexes go when none of their images is left to remove. */
  readonly versions: readonly [string, ...string[]];
  /** Default: `images/imgmatch.lock.json`. It names images, and so does it at each of `gitRef`. */
  readonly lock?: string;
  /** Commits whose lock names images: `v1.4.0`, `refs/remotes/origin/*`. */
  readonly gitRef?: readonly string[];
  /** Days that an image has to be without a name. Default: 7. */
  readonly days?: number;
  /** Mark what has no name, and remove what was marked so many days ago. Else change nothing. */
  readonly yes?: boolean;
}

export interface PrunedImage {
  readonly digest: Digest;
  readonly tags: readonly string[];
  readonly cells: readonly string[];
  /** Of its blobs; layers that other images share stay. */
  readonly bytes: number;
  /**
   * `stays`: somebody names it. `unnamed`: nobody names it. `waits`: it is marked, and not for long enough. `removed`; `emptied`: its tags hold
   * nothing, and the registry removes no manifest.
   */
  readonly state: "stays" | "unnamed" | "waits" | "removed" | "emptied";
  /** Who names it; the day from which on it can be removed. */
  readonly why?: string;
}

export interface PruneAnswer {
  readonly schemaVersion: 1;
  readonly repository: string;
  readonly images: readonly PrunedImage[];
  /** The tags of the versions and their variants. */
  readonly indexes: readonly { readonly tag: string; readonly state: "stays" | "removed" | "emptied" }[];
}

/** Type of the mark that is attached to the index of a version: what nobody named at that time. */
const markType = "application/vnd.imgmatch.unnamed.v1+json";
const dayMs = 24 * 60 * 60 * 1000;

/**
 * Lists the images of versions that nothing else names: no index of another version, no channel or its history, no second tag, no lock. With
 * `yes` it removes images that had no name at a look so many days ago, nor at any look since, and what is attached to the images.
 *
 * Throws before the first removal for any list, index or ref that cannot be read: `REGISTRY_…`, `INDEX_…`, `GIT_REF_UNREADABLE`, `LOCK_…`;
 * `PUBLISHER_AT_WORK` while somebody publishes there.
 *
 * @example
 * const { images } = await prune({ versions: ["1.0.0"], gitRef: ["refs/remotes/origin/*"] });
 */
export type PruneFunction = (options: PruneOptions, world?: Partial<World>) => Promise<PruneAnswer>;

export async function prune(options: PruneOptions, given?: Partial<World>): Promise<PruneAnswer> {
  return inWorld(options, given, (world) => pruneIn(options, world));
}

async function pruneIn(options: PruneOptions, world: World): Promise<PruneAnswer> {
  const { versions, lock: file = lockPath, gitRef = [], days = 7, yes = false } = options;
  const lock = await readLock(file);
  const { repository } = lock;
  const home = parseImageReference(repository);
  const refs = await locksOfRefs(file, gitRef);
  const registry = yes
    ? await registryToWrite([repository], options, world)
    : await registryFor(options, world);
  const named = await readNamedContent(registry, home);
  if (yes) for (const [tag, { digest }] of named.tags) named.refuseOthers(tag, digest);
  const retired = await findRetired(named, versions, { lock, refs }, registry);
  const unnamed = retired.images.filter(({ stays }) => stays === null);
  if (!yes) {
    const images = retired.images.map((image) => told(image, image.stays === null ? "unnamed" : "stays"));
    return { schemaVersion: 1, repository, images, indexes: stayingIndexes(retired) };
  }
  const now = new Date();
  const since = await unnamedSince(retired, unnamed, { home, registry, now });
  const images: PrunedImage[] = [];
  for (const image of retired.images) {
    const due = new Date((since.get(image.digest) ?? now.getTime()) + days * dayMs);
    if (image.stays !== null) images.push(told(image, "stays"));
    else if (due > now) images.push({ ...told(image, "waits"), why: due.toISOString() });
    else {
      world.signal?.throwIfAborted();
      images.push(await removeImage(image, named, registry));
    }
  }
  const waits = images.some(({ state }) => state === "waits");
  const indexes = waits ? stayingIndexes(retired) : await removeIndexes(retired, named, registry);
  return { schemaVersion: 1, repository, images, indexes };
}

function told(
  { digest, tags, cells, bytes, stays }: RetiredContent,
  state: PrunedImage["state"],
): PrunedImage {
  return { ...{ digest, tags, cells, bytes, state }, ...(stays !== null && { why: stays }) };
}

function stayingIndexes({ indexes }: Retired): PruneAnswer["indexes"] {
  return indexes.map(({ tag }) => ({ tag, state: "stays" }));
}

async function removeImage(
  image: RetiredContent,
  named: NamedContent,
  registry: FullRegistryClient,
): Promise<PrunedImage> {
  const { digest, inner, tags } = image;
  const roots = [digest, ...inner];
  const below = (await Promise.all(roots.map(named.closureOf))).flat();
  const done = await removeContent({ roots, below, tags }, named, registry);
  if (done.how === "stays") return { ...told(image, "stays"), why: done.why };
  return told(image, done.how === "gone" ? "removed" : "emptied");
}

async function removeIndexes(
  { indexes }: Retired,
  named: NamedContent,
  registry: FullRegistryClient,
): Promise<PruneAnswer["indexes"]> {
  const gone: PruneAnswer["indexes"][number][] = [];
  // The version's own is the last: it tells what is left to do after a kill.
  for (const { tag, digest, parts } of indexes.toReversed()) {
    const { how } = await removeContent({ roots: [digest], below: parts, tags: [tag] }, named, registry);
    gone.push({ tag, state: how === "gone" ? "removed" : how });
  }
  return gone.reverse();
}

/**
 * Since when each image has been without a name at every look. Writes the mark of this look. A mark belongs to an index of exactly these
 * bytes: an index that grew begins anew.
 */
async function unnamedSince(
  { indexes }: Retired,
  unnamed: readonly RetiredContent[],
  {
    home,
    registry,
    now,
  }: { readonly home: ImageReference; readonly registry: FullRegistryClient; readonly now: Date },
): Promise<ReadonlyMap<Digest, number>> {
  const [first] = indexes;
  if (first === undefined || unnamed.length === 0) return new Map();
  const digests = unnamed.map(({ digest }) => digest).sort();
  const since = new Map<Digest, number>();
  for (const { digest: about } of indexes) {
    const marks = (await recordsOf(registry, home, about, markType))
      .map(({ record }) => readMark(record, withDigest(home, about)))
      .sort((one, other) => other.at - one.at);
    for (const digest of digests) {
      for (const { at, unnamed: then } of marks) {
        if (!then.has(digest)) break;
        since.set(digest, Math.min(at, since.get(digest) ?? at));
      }
    }
    const stated = { schemaVersion: 1, at: now.toISOString(), unnamed: digests };
    const content = Buffer.from(`${JSON.stringify(canonical(stated))}\n`);
    await attach(
      registry,
      { reference: home, digest: about },
      { artifactType: markType, content, annotations: {} },
    );
  }
  return since;
}

function readMark(
  record: unknown,
  index: ImageReference,
): { readonly at: number; readonly unnamed: ReadonlySet<Digest> } {
  const { at, unnamed } = fieldsOf(record);
  const time = typeof at === "string" ? Date.parse(at) : Number.NaN;
  if (Number.isNaN(time) || !Array.isArray(unnamed))
    throw unreadable(index, "a mark of an earlier look is not understood");
  return { at: time, unnamed: new Set(unnamed.filter(isDigest)) };
}
