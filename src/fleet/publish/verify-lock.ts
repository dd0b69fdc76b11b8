/** Compares the tags and the indexes in a registry with a lock. */

import pLimit from "p-limit";
import type { Problem } from "../../errors.ts";
import { type IndexedImage, indexedImage, indexFormat } from "../../lock/fleet-index.ts";
import { formatOf, parseFleetIndex, readFleetIndex } from "../../lock/store/read-fleet-index.ts";
import { isAdopted } from "../../lock/adopted-lock.ts";
import { placeOf } from "../../lock/image-repository.ts";
import type { Lock } from "../../lock/lock.ts";
import type { Digest } from "../../oci/digest.ts";
import {
  formatImageReference,
  type ImageReference,
  isTag,
  parseImageReference,
  withDigest,
  withTag,
} from "../../oci/reference.ts";
import { versionTag } from "../cells/tag.ts";
import type { Plan } from "../plan/planned-cell.ts";
import { sortedEntries } from "../../io/collections.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import type { Manifest, ManifestDescriptor } from "../../oci/descriptor.ts";
import { type Pace, writeTag } from "./write-tag.ts";
import { indexConflicts, misnamedImages, strangers } from "./index-conflicts.ts";
import { lackedCells, orPrune, publishedCells } from "./index-lacks.ts";

const findings = ["moved", "vanished", "lost"] as const;

/** A difference between the registry and the lock. */
export interface RegistryDrift {
  readonly cell: string;
  readonly reference: string;
  /**
   * `moved`: the tag holds another image. `vanished`: there is no such tag, and the manifest is still there.
   * `lost`: the manifest is gone, whatever the tag holds.
   */
  readonly finding: (typeof findings)[number];
  /** The lock's digest. */
  readonly digest: Digest;
  /** The digest under the tag, or null. */
  readonly found: Digest | null;
  /** The tag was given the locked digest again. */
  readonly healed: boolean;
}

/** A channel that does not hold the digest of its last move. */
export interface ChannelDrift extends Omit<RegistryDrift, "cell"> {
  readonly channel: string;
}

export interface IndexVerification {
  /**
   * An `INDEX_CONFLICT` for each entry of an index that differs from the lock or is no cell's; cells of other publishers are none. An
   * `INDEX_INCOMPLETE` for each index that lacks cells that the lock has as published.
   */
  readonly conflicts: readonly Problem[];
}

export interface Verification extends IndexVerification {
  readonly repository: string;
  /** Images whose tag holds what the lock says. */
  readonly intact: number;
  /** Cells that were built and never pushed: there is nothing to look for. */
  readonly unpublished: readonly string[];
  /** Sorted by cell. */
  readonly drift: readonly RegistryDrift[];
  /** Sorted by name. */
  readonly channels: readonly ChannelDrift[];
}

export interface VerifyLockOptions extends Pace {
  readonly registry: RegistryClient;
  /** Of the fleet by this lock, where there is a matrix: {@link publishedCells}. */
  readonly plan?: Plan | null;
  /** Give each tag its digest again, where the registry still has that manifest. */
  readonly heal?: boolean;
  /** Called after each image. */
  readonly onLook?: (event: LookEvent) => void;
}

/** An image that `verify` has asked for. */
export interface LookEvent {
  readonly type: "look";
  readonly what: "tag" | "provenance";
  readonly done: number;
  readonly total: number;
}

/** A function for each of `total` images that calls the other with their number. */
export function counted(
  what: LookEvent["what"],
  total: number,
  onLook: VerifyLockOptions["onLook"] = () => {},
): () => void {
  let done = 0;
  return () => onLook({ type: "look", what, done: ++done, total });
}

/**
 * Asks for every tag of the lock. Only `heal` gives a tag another content: the lock is the truth, and the answer has the content from
 * before.
 * Throws `REGISTRY_…` when the registry fails: a registry that does not answer has not lost anything.
 */
export async function verifyLock(lock: Lock, options: VerifyLockOptions): Promise<Verification> {
  const { registry, heal = false } = options;
  const limit = pLimit(16);
  const home = parseImageReference(lock.repository);
  const images = sortedEntries(lock.images);
  const unpublished = images.filter(([, { digest }]) => digest === null).map(([cell]) => cell);
  const tell = counted("tag", images.length - unpublished.length, options.onLook);
  const looks = images.flatMap(([cell, image]) => {
    const { tag, digest } = image;
    const tagged = withTag(placeOf(lock, image), tag);
    if (digest === null) return [];
    const looked = async () => (await look(tagged, digest)).map((found) => ({ cell, ...found }));
    return [limit(() => looked().finally(tell))];
  });
  const drift = (await Promise.all(looks)).flat();
  const moves = await limit.map(sortedEntries(lock.channels ?? {}), async ([channel, { digest }]) =>
    (await look(withTag(home, channel), digest)).map((found) => ({ channel, ...found })),
  );
  return {
    repository: lock.repository,
    intact: looks.length - drift.length,
    unpublished,
    drift,
    channels: moves.flat(),
    conflicts: await verifyIndexes(lock, options),
  };

  /** The drift of one tag, if any. */
  async function look(tagged: ImageReference, digest: Digest): Promise<Omit<RegistryDrift, "cell">[]> {
    const found = (await registry.findManifest(tagged))?.digest ?? null;
    if (found === digest) return [];
    const reference = formatImageReference(tagged);
    const manifest = await registry.readManifest(withDigest(tagged, digest));
    if (manifest === null) return [{ reference, finding: "lost", digest, found, healed: false }];
    const finding = found === null ? "vanished" : "moved";
    const healed = heal && (await healTag(tagged, manifest, options));
    return [{ reference, finding, digest, found, healed }];
  }
}

/** Writes the tag once, and answers whether it holds the manifest then. A later write of another publisher stays. */
async function healTag(
  tag: ImageReference,
  manifest: Manifest,
  { registry, ...pace }: VerifyLockOptions,
): Promise<boolean> {
  const look = () => registry.findManifest(tag);
  const next = (held: ManifestDescriptor | null, written: number) =>
    held?.digest === manifest.digest || written > 0 ? null : { manifest };
  const settled = await writeTag({ ...pace, registry, reference: tag, look, next });
  return settled?.digest === manifest.digest;
}

/**
 * Verifies the index of the version, of each variant, and of each channel that was moved to this version. A tag without an index of a
 * fleet, or with one of another format, has no problem. Throws `INDEX_INVALID` where one is damaged.
 */
async function verifyIndexes(
  lock: Lock,
  { registry, plan = null }: VerifyLockOptions,
): Promise<readonly Problem[]> {
  const published = publishedCells(lock, plan);
  const more = plan === null && !isAdopted(lock) ? orPrune : "";
  const verified = (tag: string) => verifyIndex(lock, tag, registry, [published.get(tag) ?? [], more]);
  const channels = Object.entries(lock.channels ?? {}).filter(([, { version }]) => version === lock.version);
  const tags = [versionTag(lock), ...channels.map(([name]) => name)];
  // A channel moves when somebody wants it to: cells that were built since are not missed there.
  const found = tags.map(verified);
  const variants = (lock.variants ?? []).map(
    async (name) => (await verified(name)) ?? [goneIndex(lock, name)],
  );
  return (await Promise.all([...found, ...variants])).flatMap((each) => each ?? []);
}

function goneIndex({ repository }: Lock, name: string): Problem {
  const message = `${repository}:${name}, the index of a variant, is gone or holds something else`;
  return {
    code: "INDEX_CONFLICT",
    message,
    fix: "find out who removed it; imgmatch publish writes it again",
  };
}

async function verifyIndex(
  lock: Lock,
  tag: string,
  registry: RegistryClient,
  [published, more]: readonly [cells: readonly string[], fix: string],
): Promise<readonly Problem[] | null> {
  if (!isTag(tag)) return null;
  const reference = withTag(parseImageReference(lock.repository), tag);
  const top = await registry.readManifest(reference);
  if (top === null || formatOf(top) !== indexFormat) return null;
  const stored = await readFleetIndex(registry, withDigest(reference, top.digest));
  if (stored === null) return null;
  const index = parseFleetIndex(stored, reference);
  const entries = new Map<string, { readonly image: IndexedImage }>();
  for (const [cell, locked] of Object.entries(lock.images)) {
    const image = indexedImage(locked);
    if (image !== null) entries.set(cell, { image });
  }
  return [
    // Not every lock has `prefer`.
    ...indexConflicts(index, { prefer: index.prefer, entries }, reference),
    ...(await misnamedImages([...index.entries], reference, registry)),
    ...strangers(stored, reference),
    ...lackedCells(index, published, reference, more),
  ];
}
