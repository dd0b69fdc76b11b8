/** Announcements, by which publishers of one tag see each other: registries have no conditional write. */

import { count } from "../../io/table.ts";
import { note, type World } from "../../io/world.ts";
import type { Digest } from "../../oci/digest.ts";
import { type ImageReference, withTag } from "../../oci/reference.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { RegistryError } from "../../oci/registry/registry-error.ts";
import { listedTags } from "../../oci/registry/tags.ts";
import { emptyIndex, left, transientPrefix, transientTag } from "../../oci/registry/transient-tag.ts";
import { type TryOptions, tryAgain, waitFor } from "../../oci/registry/try-again.ts";

/** A publisher's own transient tag. While it stands, this publisher may write the target. */
export interface Announcement {
  readonly target: ImageReference;
  /** The transient tag, or null. Each name is used once: a late write of an earlier one must not hide a new announcement. */
  standsAt: ImageReference | null;
  /** Transient tags of before that are still there, and stand for nothing. */
  readonly retired: ImageReference[];
  /** Transient tags of others that a list had: a later list may be late again, and lack them. */
  readonly others: Set<string>;
  /** A write whose answer was lost may take effect until then, by `performance.now()`. */
  busyUntil: number;
}

export function silent(target: ImageReference): Announcement {
  return { target, standsAt: null, retired: [], others: new Set(), busyUntil: 0 };
}

/** Where a new announcement of the target's publisher is to stand. */
export function announcementOf(target: ImageReference): ImageReference {
  return withTag(target, transientTag(target.tag ?? ""));
}

/** Writes an empty index that nobody else has: deleting it by its digest removes nothing else. */
export async function announce(registry: RegistryClient, own: Announcement, options: TryOptions) {
  const name = announcementOf(own.target);
  const write = () => registry.writeManifest(name, emptyIndex(name.tag ?? ""));
  await announceBy(registry, own, name, () => tryAgain(write, options), options);
}

/** After an error that may pass, such as 503, the registry may have the announcement all the same: then it is withdrawn. */
export async function announceBy<Answer>(
  registry: RegistryClient,
  own: Announcement,
  name: ImageReference,
  write: () => Promise<Answer>,
  options: TryOptions,
): Promise<Answer> {
  own.standsAt = name;
  return write().catch(async (error: unknown) => {
    const isNotThere = async () => (await registry.findManifest(name).catch(() => undefined)) === null;
    // Another error than a registry's breaks the write off.
    if (error instanceof RegistryError && (!error.temporary || (await isNotThere()))) own.standsAt = null;
    await withdraw(registry, own, options);
    throw error;
  });
}

/**
 * Another publisher may still write the tag: its announcement holds something else than the tag does, or nobody can list announcements. A list
 * that lacks the own one is late, or was cut.
 */
export async function othersStand(
  registry: RegistryClient,
  { target, retired, others }: Announcement,
  current: Digest,
): Promise<boolean> {
  const prefix = transientPrefix(target.tag ?? "");
  const own = retired.map(({ tag }) => tag ?? "");
  const lacksOwn = (tags: ReadonlySet<string>) => own.some((tag) => !tags.has(tag));
  let tags = await listedTags(registry, target, own.length > 0 ? prefix : undefined);
  if (tags !== null && lacksOwn(tags)) tags = await listedTags(registry, target);
  if (tags === null || lacksOwn(tags)) return true;
  for (const tag of tags) if (tag.startsWith(prefix) && !own.includes(tag)) others.add(tag);
  for (const tag of others) {
    const other = await registry.findManifest(withTag(target, tag));
    if (other !== null && other.digest !== left.digest && other.digest !== current) return true;
    // Each name is used once.
    if (other === null || other.digest === left.digest) others.delete(tag);
  }
  return false;
}

/**
 * Ends the announcement. Never throws: a tag that stays costs later publishers of the same target the time to settle, and nothing else. The
 * tag is still there, with an empty index: a list of tags without it says nothing of others.
 */
export async function retire(registry: RegistryClient, own: Announcement, options: TryOptions) {
  const name = own.standsAt;
  if (name === null) return;
  own.standsAt = null;
  own.retired.push(name);
  await tryAgain(() => registry.writeManifest(name, left), options).catch(() => {});
}

/** Ends an announcement and removes its tags, also after a failure. It stands as long as a write of its publisher may still take effect. */
export async function withdraw(registry: RegistryClient, own: Announcement, options: TryOptions) {
  const { sleep = waitFor, signal } = options;
  while (own.standsAt !== null && performance.now() < own.busyUntil) {
    await sleep(Math.max(1, own.busyUntil - performance.now()), signal).catch(() => {});
    // Aborted: the announcement stays, so that others know of the write.
    if (signal?.aborted) return;
  }
  await retire(registry, own, options);
  // They hold an empty index: some registries remove a manifest together with all its tags.
  for (const name of own.retired.splice(0)) {
    const isGone = await registry.removeTag(name).catch(() => false);
    if (!isGone) staying.set(registry, (staying.get(registry) ?? 0) + 1);
  }
}

const staying = new WeakMap<RegistryClient, number>();

/** Does the work of a run that writes. At the end, also after a fault, it is told how many transient tags stay behind. */
export async function thenTellStaying<Answer>(
  registry: RegistryClient,
  world: Pick<World, "onEvent">,
  work: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work();
  } finally {
    const tags = staying.get(registry) ?? 0;
    const what = `${count(tags, "transient tag")} (imgmatch-…) ${tags === 1 ? "stays" : "stay"}`;
    const why =
      "the registry removes no tags, or this login may not; a later publisher of the same tag waits 5 s";
    if (tags > 0) note(world, [`${what}: ${why}`]);
  }
}
