/** Transient tags, by which publishers of one tag see each other: registries have no conditional write. */

import { randomBytes } from "node:crypto";
import type { Digest } from "../../oci/digest.ts";
import { digestOf } from "../../oci/digest-of.ts";
import { indexTypes } from "../../oci/media-types.ts";
import { type ImageReference, withTag } from "../../oci/reference.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import type { Manifest } from "../../oci/descriptor.ts";
import { type TryOptions, tryAgain, waitFor } from "../../oci/registry/try-again.ts";

/** A publisher's own transient tag. While it stands, this publisher may write the target. */
export interface Announcement {
  readonly target: ImageReference;
  /** The transient tag, or null. Each name is used once: a late write of an earlier one must not hide a new announcement. */
  standsAt: ImageReference | null;
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
  return { target, standsAt: null, busyUntil: 0 };
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

/** Another publisher may still write the tag: its announcement holds something else than the tag does. */
export async function othersStand(
  registry: RegistryClient,
  own: Announcement,
  current: Digest,
): Promise<boolean> {
  const pattern = new RegExp(`^imgmatch-${hashOf(own.target.tag)}-[0-9a-f]{8}$`);
  for await (const tag of registry.listTags(own.target)) {
    if (!pattern.test(tag) || tag === own.standsAt?.tag) continue;
    const other = await registry.findManifest(withTag(own.target, tag));
    if (other !== null && other.digest !== left.digest && other.digest !== current) return true;
  }
  return false;
}

/**
 * Removes the transient tag. Never throws: a tag that stays costs later publishers of the same target the time to settle, and nothing else.
 * The tag first gets an empty index, since some registries remove a manifest together with all its tags.
 */
export async function retire(
  registry: RegistryClient,
  own: Announcement,
  options: TryOptions,
): Promise<void> {
  const name = own.standsAt;
  if (name === null) return;
  own.standsAt = null;
  const ignore = (): void => {};
  await tryAgain(() => registry.writeManifest(name, left), options).catch(ignore);
  await registry.removeTag(name).catch(ignore);
}

/** Ends an announcement, also after a failure. It stands as long as a write of its publisher may still take effect. */
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
}

function hashOf(tag: string | null): string {
  return digestOf(tag ?? "").slice("sha256:".length, "sha256:".length + 16);
}

function emptyIndex(note: string): Manifest {
  const mediaType = indexTypes.oci;
  const annotations = { "dev.imgmatch.publisher": note };
  const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType, manifests: [], annotations }));
  return { mediaType, digest: digestOf(bytes), size: bytes.byteLength, bytes };
}
