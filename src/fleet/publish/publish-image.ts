/** Gives a built image its tag, once and for all, in a registry that has no conditional write. */

import { ImgmatchError } from "../../errors.ts";
import type { LockedManifest } from "../../lock/lock.ts";
import { inputsLabel } from "../../oci/build-words.ts";
import type { Digest } from "../../oci/digest.ts";
import { formatImageReference, type ImageReference, withDigest } from "../../oci/reference.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import { findImageConfig } from "../../oci/registry/platform-image.ts";
import type { StoredBlobs } from "../../lock/lock.ts";
import type { Engine } from "../engines/engine.ts";
import type { BuildWatch, BuiltImage } from "../../oci/engine/built-image.ts";
import { untilThere } from "../../oci/registry/try-again.ts";
import { retryPush } from "../engines/push-failure.ts";
import { announceBy, announcementOf, silent, withdraw } from "./announcement.ts";
import { type Pace, writeTag } from "./write-tag.ts";

/** A published image, as the lock records it. */
export interface FoundImage {
  readonly digest: Digest;
  readonly manifest: LockedManifest;
  readonly blobs: StoredBlobs | null;
}

/** The tag that an image of these inputs is to have. */
interface ImageName extends Pick<Pace, "settleMs" | "sleep"> {
  readonly registry: RegistryClient;
  readonly reference: ImageReference;
  readonly platform: string;
  readonly inputDigest: Digest;
}

export interface FindRequest extends ImageName {
  /** Digest of what would be put there, where it is known: for the message of a conflict. */
  readonly ours?: Digest;
  readonly signal?: AbortSignal;
}

export interface PublishRequest extends ImageName {
  readonly engine: Pick<Engine, "push">;
  readonly image: BuiltImage;
  readonly watch: BuildWatch;
  /** Called with the digest of what was pushed, before it has its tag. If it throws, nothing gets the tag. */
  readonly beforeTag?: (pushed: Digest) => Promise<void>;
}

export interface Published extends FoundImage {
  /** `adopted`: the tag holds another publisher's image of the same inputs. */
  readonly how: "pushed" | "adopted";
  /** Adopted, though the same inputs gave other bytes here: the build is not reproducible. */
  readonly differs: boolean;
}

/**
 * Finds the image of the same inputs under the tag, once no publisher may write something else there any more; null when there is no such
 * tag. It writes nothing. Throws `TAG_CONFLICT` when it holds other inputs, `REGISTRY_…` when the registry fails.
 */
export async function findPublished(request: FindRequest): Promise<FoundImage | null> {
  return writeTag({ ...request, look: () => findExisting(request), next: () => null });
}

/**
 * Looks, pushes under a transient tag `imgmatch-<hash of the tag>-<random>`, calls `beforeTag`, tags, and
 * looks again until it is settled. By the transient tag all publishers of the tag, of the same inputs or not, see who else may still write; see
 * {@link writeTag}. The loser of a race thereby has the winner's digest, or fails with `TAG_CONFLICT`. A publisher whose
 * write takes effect later than `settleMs` after its last look can still win; no registry offers what would prevent that.
 *
 * At the end the transient tag holds an empty index, and is removed where the registry allows that. A killed publisher
 * leaves its own; such a tag costs later publishers of the same tag `settleMs`.
 *
 * Throws `TAG_CONFLICT` when the tag holds other inputs, `REGISTRY_…` when the registry fails, and what `beforeTag` throws.
 */
export async function publishImage(request: PublishRequest): Promise<Published> {
  const { engine, registry, image, reference, watch, sleep } = request;
  const { signal } = watch;
  // Somebody may have published it while it was built.
  const before = await findPublished({ ...request, signal });
  if (before !== null) return adopted(request, before, null);

  const announced = announcementOf(reference);
  const own = silent(reference);
  try {
    const push = () => retryPush(() => engine.push(image, announced, watch), watch, { sleep });
    const pushed = await announceBy(registry, own, announced, push, { signal, sleep });
    const read = () => registry.readManifest(withDigest(reference, pushed));
    const manifest = await untilThere(read, { signal, sleep });
    if (manifest === null) throw failed(reference, `does not have ${pushed} 30 s after it was pushed`);
    // However long it takes: the tag is looked at again before it is written.
    await request.beforeTag?.(pushed);
    const query = { ...request, signal, ours: manifest.digest };
    const look = () => findExisting(query);
    const next = (held: FoundImage | null) => (held === null ? { manifest } : null);
    const settled = await writeTag({ ...query, look, next }, own);
    if (settled === null) throw failed(reference, `lost the tag that held ${manifest.digest}`);
    return settled.digest === manifest.digest
      ? { ...settled, how: "pushed", differs: false }
      : await adopted(query, settled, manifest.digest);
  } finally {
    await withdraw(registry, own, { signal, sleep });
  }
}

/** Another publisher's image, compared with the one that was built here. */
async function adopted(
  { registry, reference, platform, image, watch }: PublishRequest,
  found: FoundImage,
  ours: Digest | null,
): Promise<Published> {
  const { digest } = found;
  const read = await findImageConfig(registry, withDigest(reference, digest), platform);
  const held = read === null || "isNot" in read ? [] : [read.digest, read.configDigest];
  // An engine's id of an image is the digest of its configuration or, with a content store, of its manifest.
  const differs = ![digest, ...held].some((each) => each === image.id) && digest !== ours;
  if (differs) {
    const here = ours ?? image.id;
    watch.onLog(`not reproducible: the registry has ${digest} of the same inputs, built here was ${here}`);
  }
  return { ...found, how: "adopted", differs };
}

function failed(reference: ImageReference, what: string): ImgmatchError {
  return new ImgmatchError({
    code: "REGISTRY_FAILED",
    message: `the registry of ${formatImageReference(reference)} ${what}`,
    fix: "run the same build again; if it stays, check the registry's storage and clean-up rules",
  });
}

/**
 * The image under the tag, or with the digest, when it was made of the same inputs; null when there is none.
 * Throws `TAG_CONFLICT`, with both digests, when the tag holds anything else: an existing tag is never given another content.
 */
export async function findExisting(query: FindRequest): Promise<FoundImage | null> {
  const { registry, reference, platform, inputDigest } = query;
  const found = await registry.findManifest(reference);
  if (found === null) return null;
  const { digest, mediaType, size } = found;
  // Read by digest: the tag may move meanwhile.
  const read = () => findImageConfig(registry, withDigest(reference, digest), platform);
  const image = await untilThere(read, query);
  if (image === null) {
    // Removed since, or a tag of nothing: which is still no place for something else.
    const now = await registry.findManifest(reference);
    if (now?.digest === found.digest) throw conflict(query, found.digest, "which the registry does not have");
    return now === null ? null : findExisting(query);
  }
  if ("isNot" in image)
    throw conflict(query, found.digest, `which is no image for ${platform}: ${image.isNot}`);
  const inputs = image.config.labels[inputsLabel];
  if (inputs === inputDigest) return { digest, manifest: { mediaType, size }, blobs: image.blobs };
  throw conflict(
    query,
    found.digest,
    inputs === undefined ? `with no ${inputsLabel} label` : `with inputs ${inputs}`,
  );
}

function conflict(
  { reference, inputDigest, ours }: FindRequest,
  theirs: Digest,
  what: string,
): ImgmatchError {
  const tag = formatImageReference(reference);
  const mine = ours === undefined ? "this image" : ours;
  return new ImgmatchError({
    code: "TAG_CONFLICT",
    message: `${tag} already holds ${theirs} ${what}; ${mine} has inputs ${inputDigest}`,
    fix: "put {{inputs}} into the matrix's tag, raise its version, or remove the tag from the registry if nobody uses it",
  });
}
