/** The requests of imgmatch to an OCI registry. Only 404 means absent; any other failure throws, unless the request only advises. */

import type { Manifest, ManifestDescriptor } from "../descriptor.ts";
import type { Digest } from "../digest.ts";
import type { ImageReference } from "../reference.ts";
import type { RegistryError } from "./registry-error.ts";

export interface RegistryClient {
  /** Describes a manifest; null for 404. */
  findManifest(reference: ImageReference): Promise<ManifestDescriptor | null>;
  /**
   * Reads a manifest and checks its digest; null for 404.
   *
   * @param options.size bytes at most, where a descriptor tells them. Default: the longest manifest
   */
  readManifest(
    reference: ImageReference,
    options?: AdviceOptions & { readonly size?: number },
  ): Promise<Manifest | null>;
  /**
   * Puts exactly these bytes under the reference's tag or digest, and answers their digest. The write of a tag is never repeated: somebody
   * else may have written it meanwhile, so the caller looks first. Throws `RegistryError`.
   */
  writeManifest(reference: ImageReference, manifest: Manifest): Promise<Digest>;
  /** Removes a tag and keeps the manifest. False if the registry does not offer that. */
  removeTag(reference: ImageReference): Promise<boolean>;
  /** Removes the manifest of the reference's digest with all its tags. False if the registry does not offer that or has no such manifest. */
  removeManifest(reference: ImageReference): Promise<boolean>;
  /** Reads a configuration of at most 4 MiB and checks its digest. Throws for 404. */
  readBlob(repository: ImageReference, digest: Digest): Promise<Uint8Array>;
  /**
   * Yields a blob of this size in pieces. The digest is checked before the last piece: until then nothing made of the others counts.
   * Throws for 404.
   */
  streamBlob(repository: ImageReference, digest: Digest, size: number): AsyncIterable<Uint8Array>;
  /**
   * Yields all tags of a repository; none for 404.
   *
   * @param options.prefix only those that begin so, and a few more, in a registry that sorts; another may yield any tags
   */
  listTags(
    repository: ImageReference,
    options?: AdviceOptions & { readonly prefix?: string | undefined },
  ): AsyncIterable<string>;
}

export interface AdviceOptions {
  /**
   * Given where the caller can do without the answer: gets the refusal, which then counts as "nothing there". All other requests decide: a
   * wrong "absent" could overwrite or drop something there.
   */
  readonly onRefusal?: ((why: RegistryError) => void) | undefined;
}

/** Reads the manifests that name an image as their subject: signatures, attestations (OCI distribution-spec, "Listing Referrers"). */
export interface ReferrersReader {
  /** null if the registry has no such API (404): then the tag `sha256-<hex>` lists them. Throws for an endless list. */
  readReferrers(
    repository: ImageReference,
    subject: Digest,
    options?: AdviceOptions,
  ): Promise<readonly Referrer[] | null>;
}

export interface Referrer extends ManifestDescriptor {
  readonly artifactType: string | null;
  readonly annotations: Readonly<Record<string, string>>;
}

/** Writes small blobs: signatures, statements. */
export interface BlobWriter {
  /** Answers the digest. */
  writeBlob(repository: ImageReference, bytes: Uint8Array): Promise<Digest>;
}

/** Asks for the right to push before there is anything to push. */
export interface PushAsker {
  /**
   * Begins an upload and takes it back. Throws `REGISTRY_…` where the registry refuses it; a registry in trouble, or none that answers, has not
   * refused.
   */
  requirePush(repository: ImageReference): Promise<void>;
}

/** Copies blobs: everything that an index names must be in the index's repository. */
export interface BlobCopier {
  /** Copies a blob within a registry or to another one. Both sides check the digest. Throws `RegistryError`; the caller may repeat it. */
  copyBlob(
    from: ImageReference,
    to: ImageReference,
    blob: { readonly digest: Digest; readonly size: number },
  ): Promise<"there" | "mounted" | "sent">;
}

/** Reads what is attached to an image. */
export type EvidenceReader = Pick<RegistryClient, "readManifest" | "streamBlob"> & ReferrersReader;
