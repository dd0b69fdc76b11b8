/** Copies an image into another repository, byte for byte: every platform, the attachments, and the tag last. */

import pLimit from "p-limit";
import { ImgmatchError } from "../../errors.ts";
import { fieldsOf, parseJson, text } from "../../io/json.ts";
import { placeOf, repositoryOf } from "../../lock/image-repository.ts";
import type { Lock, LockedImage } from "../../lock/lock.ts";
import { type Digest, isDigest } from "../../oci/digest.ts";
import { isIndexType } from "../../oci/media-types.ts";
import {
  formatImageReference,
  type ImageReference,
  parseImageReference,
  withDigest,
  withTag,
} from "../../oci/reference.ts";
import type { RegistryClient } from "../../oci/registry/client.ts";
import type { Manifest, ManifestDescriptor } from "../../oci/descriptor.ts";
import type { FullRegistryClient } from "../../oci/registry/create-client.ts";
import { tryAgain } from "../../oci/registry/try-again.ts";
import { cosignTags } from "../../oci/registry/attachment-tags.ts";
import { attachManifest } from "../../oci/registry/attach.ts";
import { findReferrers } from "../../oci/registry/find-referrers.ts";
import { type Pace, writeTag } from "./write-tag.ts";

export interface CopyImageOptions extends Pace {
  readonly registry: FullRegistryClient;
}

/** Blobs at one time: each has two pieces of 16 MiB in memory. */
const atOnce = 2;

const maxManifests = 1000;

const maxDepth = 4;

type Blob = Pick<ManifestDescriptor, "digest" | "size">;

/**
 * Copies an image with its attachments. Blobs that the target has already do not travel, so an interrupted copy goes on where it was. Blobs
 * are mounted if both repositories are of one registry that can, and else sent in pieces; layers that live elsewhere (`urls`) are left there.
 *
 * @param from by digest
 * @param to with the tag; one that holds another image is `TAG_CONFLICT`, before anything is copied
 *
 * Throws too `IMAGE_NOT_FOUND`, `IMAGE_INVALID` and what the registries throw.
 */
export async function copyImage(
  from: ImageReference,
  to: ImageReference,
  { registry, ...pace }: CopyImageOptions,
): Promise<void> {
  const wanted = from.digest;
  const look = () => registry.findManifest(to);
  const before = await look();
  if (before !== null && before.digest !== wanted) throw conflict(to, before.digest, from);
  const [top, ...parts] = await manifestsOf(registry, from);
  if (top === undefined) throw gone(from);
  const copyBlobs = async (manifests: readonly Manifest[]) => {
    const found = manifests.flatMap((manifest) => blobsOf(manifest, from));
    const blobs = new Map(found.map((blob) => [blob.digest, blob]));
    const limit = pLimit(atOnce);
    const repository = withDigest(to, top.digest);
    await limit
      .map(blobs.values(), (blob) => tryAgain(() => registry.copyBlob(from, repository, blob), pace))
      .finally(() => limit.clearQueue());
  };
  if (before === null) {
    await copyBlobs([top, ...parts]);
    // The parts of an index have to be there before it.
    for (const part of parts.toReversed())
      await registry.writeManifest(withDigest({ ...to, tag: null }, part.digest), part);
  }
  const all = [top, ...parts].map(({ digest }) => digest);
  await copyAttachments(from, to, all, copyBlobs, { registry, ...pace });
  if (before !== null) return;
  const next = (held: ManifestDescriptor | null) => {
    if (held !== null && held.digest !== top.digest) throw conflict(to, held.digest, from);
    return held === null ? { manifest: top } : null;
  };
  await writeTag({ ...pace, registry, reference: to, look, next });
}

/**
 * Copies the images of other repositories into the fleet's, under their tags: an index names what lies beside it. Throws as `copyImage`.
 */
export async function bringImages(
  { repository }: Pick<Lock, "repository">,
  images: Iterable<LockedImage>,
  options: CopyImageOptions,
): Promise<void> {
  const home = parseImageReference(repository);
  const limit = pLimit(atOnce);
  const bring = async (image: LockedImage) => {
    const { digest, tag } = image;
    if (digest === null || repositoryOf({ repository }, image) === repository) return;
    await copyImage(withDigest(placeOf({ repository }, image), digest), withTag(home, tag), options);
  };
  await limit.map(images, bring).finally(() => limit.clearQueue());
}

/** The manifest and, of an index, all manifests below. A parent comes first. */
async function manifestsOf(registry: RegistryClient, from: ImageReference): Promise<readonly Manifest[]> {
  const found = new Map<string, Manifest>();
  const read = async (digest: Digest | null, depth: number): Promise<void> => {
    if (digest === null || found.has(digest)) return;
    if (depth > maxDepth || found.size >= maxManifests)
      throw invalid(from, `has more than ${maxManifests} manifests, or ${maxDepth} indexes in one another`);
    const manifest = await registry.readManifest(withDigest(from, digest));
    if (manifest === null) throw gone(withDigest(from, digest));
    found.set(digest, manifest);
    if (!isIndexType(manifest.mediaType)) return;
    const { manifests } = fieldsOf(parseJson(manifest.bytes));
    for (const entry of Array.isArray(manifests) ? manifests : []) {
      const child = fieldsOf(entry).digest;
      if (!isDigest(child)) throw invalid(from, "names a manifest without a digest");
      await read(child, depth + 1);
    }
  };
  await read(from.digest, 0);
  return [...found.values()];
}

function blobsOf({ mediaType, bytes }: Manifest, from: ImageReference): readonly Blob[] {
  if (isIndexType(mediaType)) return [];
  const { config, layers } = fieldsOf(parseJson(bytes));
  if (!Array.isArray(layers)) throw invalid(from, "has a manifest that is not that of an image");
  return [config, ...layers].flatMap((part): readonly Blob[] => {
    const { digest, size, urls } = fieldsOf(part);
    if (Array.isArray(urls) && urls.some((url) => text(url) !== null)) return [];
    if (!isDigest(digest) || typeof size !== "number" || !Number.isSafeInteger(size) || size < 0)
      throw invalid(from, "has a part without digest and size");
    return [{ digest, size }];
  });
}

function conflict(to: ImageReference, held: Digest, from: ImageReference): ImgmatchError {
  return new ImgmatchError({
    code: "TAG_CONFLICT",
    message: `${formatImageReference(to)} holds ${held}, and ${formatImageReference(from)} is another image`,
    fix: "imgmatch never gives a tag another image: give one of them another tag, or publish to another repository",
  });
}

function gone(from: ImageReference): ImgmatchError {
  return new ImgmatchError({
    code: "IMAGE_NOT_FOUND",
    message: `the registry does not have ${formatImageReference(from)}`,
    fix: "run it again; if it stays, check the registry's clean-up rules",
  });
}

function invalid(from: ImageReference, what: string): ImgmatchError {
  return new ImgmatchError({
    code: "IMAGE_INVALID",
    message: `${formatImageReference(from)} ${what}`,
    fix: "push the image again",
  });
}

const mostAttachments = 1000;

/**
 * Copies signatures, provenance and SBOMs: manifests with one of the digests as subject, and the manifests with a copied one as subject. A tag
 * with other content in the other repository stays. Throws what the registries throw.
 */
async function copyAttachments(
  from: ImageReference,
  to: ImageReference,
  subjects: readonly Digest[],
  copyBlobs: (manifests: readonly Manifest[]) => Promise<void>,
  { registry, ...pace }: CopyImageOptions,
): Promise<void> {
  const seen = new Set<Digest>(subjects);
  for (const digest of seen) {
    for (const entry of await findReferrers(registry, { reference: from, digest })) {
      if (seen.has(entry.digest) || seen.size >= mostAttachments) continue;
      const manifest = await registry.readManifest(withDigest(from, entry.digest));
      // The list under a tag may name what is gone, and what names another subject.
      if (manifest === null || subjectOf(manifest) !== digest) continue;
      seen.add(entry.digest);
      await copyBlobs([manifest]);
      await attachManifest(registry, { reference: to, digest }, { manifest, entry }, pace);
    }
    await Promise.all(cosignTags(digest).map(copyTagged));
  }

  async function copyTagged(tag: string): Promise<void> {
    const manifest = await registry.readManifest(withTag(from, tag));
    if (manifest === null || (await registry.findManifest(withTag(to, tag))) !== null) return;
    await copyBlobs([manifest]);
    await registry.writeManifest(withTag(to, tag), manifest);
  }
}

function subjectOf({ bytes }: Manifest): Digest | null {
  const { digest } = fieldsOf(fieldsOf(parseJson(bytes)).subject);
  return isDigest(digest) ? digest : null;
}
