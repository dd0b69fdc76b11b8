/** Transient tags, by which publishers of one tag see each other: registries have no conditional write. */

import { randomBytes } from "node:crypto";
import { count } from "../../io/table.ts";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { type ImageReference, withTag } from "../../oci/reference.ts";
import { emptyIndex } from "../../oci/registry/absence.ts";
import { unlessRefused } from "../../oci/registry/advice.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { listedTags } from "../../oci/registry/tags.ts";
import { type TryOptions, tryAgain, waitFor } from "../../oci/registry/try-again.ts";

/** A publisher's own transient tag. While it stands, this publisher may write the target. */
export interface Announcement {
  readonly target: ImageReference;
  /** The transient tag, or null. Each name is used once: a late write of an earlier one must not hide a new announcement. */
  standsAt: ImageReference | null;
  /** Transient tags of before that are still there, and stand for nothing. */
  readonly retired: ImageReference[];
  /** A write whose answer was lost may take effect until then, by `performance.now()`. */
  busyUntil: number;
}

/** The content of a withdrawn transient tag in a registry that cannot remove tags. */
export const left = emptyIndex("left");

export function isTransientTag(tag: string): boolean {
  return /^imgmatch-[0-9a-f]{16}-[0-9a-f]{8}$/.test(tag);
}

/** A new transient tag. It has a hash of the target's tag, which may be as long as any tag can be. */
export function transientTag({ tag }: ImageReference): string {
  return `imgmatch-${hashOf(tag)}-${randomBytes(4).toString("hex")}`;
}

export function silent(target: ImageReference): Announcement {
  return { target, standsAt: null, retired: [], busyUntil: 0 };
}

/** Writes an empty index that nobody else has: deleting it by its digest removes nothing else. */
export async function announce(
  registry: RegistryClient,
  own: Announcement,
  options: TryOptions,
): Promise<void> {
  const name = withTag(own.target, transientTag(own.target));
  await tryAgain(() => registry.writeManifest(name, emptyIndex(name.tag ?? "")), options);
  own.standsAt = name;
}

/** Another publisher may still write the tag: its announcement holds something else than the tag does, or nobody can list announcements. */
export async function othersStand(
  registry: RegistryClient,
  own: Announcement,
  current: Digest,
): Promise<boolean> {
  const tags = await unlessRefused(announcements(registry, own), () => null);
  if (tags === null) return true;
  for (const tag of tags) {
    if (own.retired.some((mine) => mine.tag === tag)) continue;
    const other = await registry.findManifest(withTag(own.target, tag));
    if (other !== null && other.digest !== left.digest && other.digest !== current) return true;
  }
  return false;
}

/** Clients of registries that do not sort tags: their lists are read whole at once. */
const unsorted = new WeakSet<RegistryClient>();

/** All transient tags of the target. null where the list lacks an own one: it is late, or was cut. */
async function announcements(registry: RegistryClient, own: Announcement): Promise<readonly string[] | null> {
  const prefix = `imgmatch-${hashOf(own.target.tag)}-`;
  const witness = own.retired.at(-1)?.tag;
  if (witness != null && !unsorted.has(registry)) {
    const found = await sortedAfter(registry, own.target, prefix);
    if (found === null) unsorted.add(registry);
    else if (found.includes(witness)) return found;
  }
  const listed = await listedTags(registry, own.target);
  if (listed === null) return null;
  const found = [...listed].filter((tag) => tag.startsWith(prefix));
  return witness == null || found.includes(witness) ? found : null;
}

/** The tags with this prefix, without those before and after them; null where the registry does not sort tags. */
async function sortedAfter(
  registry: RegistryClient,
  repository: ImageReference,
  prefix: string,
): Promise<readonly string[] | null> {
  const found: string[] = [];
  for await (const tag of registry.listTags(repository, { advises: true, after: prefix })) {
    if (tag <= (found.at(-1) ?? prefix)) return null;
    if (!tag.startsWith(prefix)) return found;
    found.push(tag);
  }
  return found;
}

/**
 * Ends the announcement. Never throws: a tag that stays costs later publishers of the same target the time to settle, and nothing else. The
 * tag is still there, with an empty index: a list of tags without it says nothing of others.
 */
export async function retire(
  registry: RegistryClient,
  own: Announcement,
  options: TryOptions,
): Promise<void> {
  const name = own.standsAt;
  if (name === null) return;
  own.standsAt = null;
  own.retired.push(name);
  await tryAgain(() => registry.writeManifest(name, left), options).catch(() => {});
}

/** Ends an announcement and removes its tags, also after a failure. It stands as long as a write of its publisher may still take effect. */
export async function withdraw(
  registry: RegistryClient,
  own: Announcement,
  options: TryOptions,
): Promise<void> {
  const { sleep = waitFor, signal } = options;
  while (own.standsAt !== null && performance.now() < own.busyUntil) {
    const waitMs = own.busyUntil - performance.now();
    const isOver = await sleep(Math.max(1, waitMs), signal).then(
      () => false,
      () => true,
    );
    // Aborted: the announcement stays, so that others know of the write.
    if (isOver || signal?.aborted) return;
  }
  await retire(registry, own, options);
  // They hold an empty index: some registries remove a manifest together with all its tags.
  for (const name of own.retired.splice(0)) {
    const isGone = await registry.removeTag(name).catch(() => false);
    if (!isGone) staying.set(registry, (staying.get(registry) ?? 0) + 1);
  }
}

const staying = new WeakMap<RegistryClient, number>();

/** Tells how many transient tags stay behind, since the last call. */
export function tellStaying(registry: RegistryClient, tell: (line: string) => void): void {
  const tags = staying.get(registry) ?? 0;
  staying.delete(registry);
  if (tags === 0) return;
  const what = `${count(tags, "transient tag")} (imgmatch-…) ${tags === 1 ? "stays" : "stay"}`;
  tell(
    `${what}: the registry removes no tags, or this login may not; a later publisher of the same tag waits 5 s`,
  );
}

function hashOf(tag: string | null): string {
  return digestOf(tag ?? "").slice("sha256:".length, "sha256:".length + 16);
}
