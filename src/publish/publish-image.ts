/** Giving a built image its tag, once and for all, in a registry that has no conditional write. */

import type { Digest } from "../oci/digest.ts";
import { randomBytes } from "node:crypto";
import { setTimeout as sleepFor } from "node:timers/promises";
import { ImgmatchError } from "../errors.ts";
import type { LockedManifest } from "../lock/lock.ts";
import type { Manifest, ManifestDescriptor, RegistryClient } from "../registry/client.ts";
import { formatImageReference, type ImageReference, withDigest, withTag } from "../oci/reference.ts";
import type { BuildWatch, BuiltImage, Engine } from "../build/engine.ts";
import { findExisting } from "./find-existing.ts";
import { retryPush } from "./retry-push.ts";

export interface PublishRequest {
  readonly engine: Pick<Engine, "push">;
  readonly registry: RegistryClient;
  readonly image: BuiltImage;
  /** With the tag that the image is to have. */
  readonly reference: ImageReference;
  /** `os/architecture`. */
  readonly platform: string;
  readonly inputDigest: Digest;
  readonly watch: BuildWatch;
  /** How long other publishers of the same inputs get to finish, in milliseconds. Default: 5,000. */
  readonly settleMs?: number | undefined;
}

export interface Published {
  /** What the tag holds in the registry. */
  readonly digest: Digest;
  readonly manifest: LockedManifest;
  /** `adopted`: the tag holds an image of the same inputs that somebody else has put there. */
  readonly how: "pushed" | "adopted";
  /** Adopted, though the same inputs gave other bytes here: the build is not reproducible. */
  readonly differs: boolean;
}

const pollMs = 100;

/**
 * Looks, pushes under a transient tag `imgmatch-<inputs>-<random>`, tags, and looks again until it is settled.
 *
 * Every publisher announces itself by its transient tag before it looks for the last time. So whoever finds the tag absent
 * has announced itself before the first write of the tag, and after its own write each can see who else may still write:
 * an announcement that neither is gone nor points to what the tag holds. All wait for those, at most `settleMs`, and then
 * take what the tag holds. The loser of a race thereby has the winner's digest. A publisher that stalls for longer than
 * `settleMs` between its last look and its write can still win later; no registry offers what would prevent that.
 *
 * The transient tag is removed where the registry allows that. Where it does not, one stays for each push, pointing to the
 * published manifest. A killed publisher leaves its own; such a tag costs later publishers of the same inputs `settleMs`.
 *
 * Throws `TAG_CONFLICT` when the tag holds other inputs, `REGISTRY_…` when the registry fails.
 */
export async function publishImage(request: PublishRequest): Promise<Published> {
  const { engine, registry, image, reference, inputDigest, watch } = request;
  const before = await findExisting(request);
  if (before !== null) return adopted(request, await settle(request, null, before));

  const announced = withTag(reference, `${announcementPrefix(inputDigest)}${randomBytes(4).toString("hex")}`);
  const pushed = await retryPush(() => engine.push(image, announced, watch), watch);
  const manifest = await registry.readManifest(withDigest(reference, pushed));
  if (manifest === null) {
    throw failed(reference, `does not have ${pushed} right after it was pushed`);
  }
  const own: Announcement = { reference: announced, manifest, state: "standing" };
  const query = { ...request, ours: manifest.digest };
  try {
    if ((await findExisting(query)) === null) await writeTag(query, manifest);
    const settled = await settle(query, own, manifest);
    return settled.digest === manifest.digest
      ? { digest: settled.digest, manifest: noted(settled), how: "pushed", differs: false }
      : await adopted(query, settled);
  } finally {
    await retire(registry, own, null);
  }
}

/** Own transient tag: standing → removed, or, where tags cannot be removed, pointing to what the real tag holds. */
interface Announcement {
  readonly reference: ImageReference;
  readonly manifest: Manifest;
  state: "standing" | "removed" | "stays";
}

/** What somebody else has put there, and whether it is what was built here. */
async function adopted(
  { registry, reference, image, ours, watch }: Query,
  manifest: ManifestDescriptor,
): Promise<Published> {
  const { digest } = manifest;
  const read = await registry.readManifest(withDigest(reference, digest));
  const { config } = JSON.parse(Buffer.from(read?.bytes ?? []).toString() || "{}") as {
    readonly config?: { readonly digest?: string };
  };
  // An engine's id of an image is the digest of its configuration or, with a content store, of its manifest.
  const differs = ![digest, config?.digest].includes(image.id) && digest !== ours;
  if (differs) {
    const here = ours ?? image.id;
    watch.onLog(`not reproducible: the registry has ${digest} of the same inputs, built here was ${here}`);
  }
  return { digest, manifest: noted(manifest), how: "adopted", differs };
}

/** What the lock says of a manifest beside its digest. */
export function noted({ mediaType, size }: ManifestDescriptor): LockedManifest {
  return { mediaType, size };
}

type Query = PublishRequest & { readonly ours?: Digest };

function announcementPrefix(inputDigest: Digest): string {
  return `imgmatch-${inputDigest.slice("sha256:".length, "sha256:".length + 16)}-`;
}

/** A registry with immutable tags refuses the second writer: then the first one's image is looked at. */
async function writeTag(query: Query, manifest: Manifest): Promise<void> {
  try {
    await query.registry.writeManifest({ ...query.reference, digest: null }, manifest);
  } catch (error) {
    if ((await findExisting(query)) === null) throw error;
  }
}

async function settle(
  query: Query,
  own: Announcement | null,
  seen: ManifestDescriptor,
): Promise<ManifestDescriptor> {
  const { registry, reference, watch, settleMs = 5000 } = query;
  const deadline = performance.now() + settleMs;
  let current = seen;
  let restored = false;
  for (;;) {
    watch.signal.throwIfAborted();
    const found = await findExisting(query);
    if (found === null) {
      // Some registries drop the manifest with all its tags when one tag is removed.
      if (own === null || restored) throw failed(reference, `lost the tag that held ${current.digest}`);
      restored = true;
      await writeTag(query, own.manifest);
      continue;
    }
    current = found;
    if (own !== null) await retire(registry, own, current.digest);
    const othersMayWrite = await isContested(query, own, current.digest);
    if (performance.now() >= deadline) return current;
    if (othersMayWrite) await sleepFor(pollMs);
    else if ((await registry.findManifest(reference))?.digest === current.digest) return current;
  }
}

/** Whether another publisher of the same inputs may still write the tag. */
async function isContested(
  { registry, reference, inputDigest }: Query,
  own: Announcement | null,
  current: Digest,
): Promise<boolean> {
  const prefix = announcementPrefix(inputDigest);
  for await (const tag of registry.listTags(reference)) {
    if (!tag.startsWith(prefix) || tag === own?.reference.tag) continue;
    const other = await registry.findManifest(withTag(reference, tag));
    if (other !== null && other.digest !== current) return true;
  }
  return false;
}

/** Never throws: the image is published whatever becomes of its transient tag. `current` is what the real tag holds. */
async function retire(registry: RegistryClient, own: Announcement, current: Digest | null): Promise<void> {
  try {
    if (own.state === "standing") {
      own.state = "stays";
      if (await registry.removeTag(own.reference)) own.state = "removed";
    }
    if (own.state !== "stays" || current === null) return;
    if ((await registry.findManifest(own.reference))?.digest === current) return;
    const winner = await registry.readManifest(withDigest(own.reference, current));
    if (winner !== null) await registry.writeManifest(own.reference, winner);
  } catch {
    // It stays as it is.
  }
}

function failed(reference: ImageReference, what: string): ImgmatchError {
  return new ImgmatchError({
    code: "REGISTRY_FAILED",
    message: `the registry of ${formatImageReference(reference)} ${what}`,
    fix: "run the same build again; if it stays, check the registry's storage and clean-up rules",
  });
}
